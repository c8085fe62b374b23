"""How many inputs each verb got so far, what came of them, and where the next run goes on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec

from tests.fuzz.verbs.campaign import Result


class VerbTally(msgspec.Struct):
    """The inputs of one verb."""

    inputs: int = 0
    recognised: int = 0
    cpu_s: float = 0
    codes: dict[str, int] = {}  # how often it ended with each exit code


class Tally(msgspec.Struct):
    """Of one campaign; `next_number` is the first case that has not run."""

    seed: int
    next_number: int = 0
    verbs: dict[str, VerbTally] = {}
    findings: dict[str, int] = {}  # how often, by name

    @classmethod
    def resumed(cls, file: Path, seed: int) -> Tally:
        """What an earlier run of the same seed wrote, or an empty one."""
        if file.exists():
            before = msgspec.json.decode(file.read_bytes(), type=cls)
            if before.seed == seed:
                return before
        return cls(seed)

    def save(self, file: Path) -> None:
        draft = file.with_suffix(".partial")
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(self)))
        draft.replace(file)

    def count(self, result: Result) -> None:
        verb = self.verbs.setdefault(result.verb, VerbTally())
        verb.inputs += 1
        verb.recognised += result.recognised
        verb.cpu_s += result.cpu_s
        verb.codes[str(result.code)] = verb.codes.get(str(result.code), 0) + 1
        for name in result.findings:
            self.findings[name] = self.findings.get(name, 0) + 1

    def lines(self) -> list[str]:
        """A table for the terminal."""
        rows = [("verb", "inputs", "recognised", "exit codes")]
        rows += [
            (name, f"{verb.inputs:,}", f"{verb.recognised:,}", _enumerated(verb.codes))
            for name, verb in sorted(self.verbs.items())
        ]
        total, passed = (
            sum(getattr(verb, name) for verb in self.verbs.values()) for name in ("inputs", "recognised")
        )
        rows.append(("all", f"{total:,}", f"{passed:,}", ""))
        return [f"{name:22}{inputs:>9}{recognised:>12}  {codes}" for name, inputs, recognised, codes in rows]


def keep(result: Result, case: Path, findings: Path) -> None:
    """Put the input, what was wrong and the command that shows it again into a folder each finding has of its own."""
    for name, details in result.findings.items():
        folder = findings / re.sub(r"[^\w.-]+", "_", name)[:100]
        if not folder.exists():
            shutil.copytree(case, folder, symlinks=True)
            again = f"cd {folder} && ROCM_PERF_DEBUG=1 rocm-perf {result.command}"
            text = f"{name}\n{again}\ncase {result.number}\n\n{details}\n"
            (folder / "finding.txt").write_text(text, errors="backslashreplace")
    shutil.rmtree(case, ignore_errors=True)


def _enumerated(codes: dict[str, int]) -> str:
    return ", ".join(
        f"{code}: {count:,}" for code, count in sorted(codes.items(), key=lambda item: int(item[0]))
    )
