"""Cases in a process of their own, because a hostile input may hang it, use up its memory, or end it."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import pickle
import resource
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.fuzz.verbs.campaign import Campaign, Result
from tests.fuzz.verbs.judge import DOCUMENTED

WALL_LIMIT_S = 60  # for one case; judge has a limit for CPU time, which a busy machine does not touch
MEMORY_LIMIT_MB = 1024  # that one case may add
_ADDRESS_SPACE = 24 << 30  # so that a runaway ends here and not with the machine
_PANIC = b"panicked at"


@dataclass(frozen=True)
class Worker:
    """Runs cases of a campaign in `folder`, where their results and those that went wrong are found afterwards."""

    folder: Path
    seeds: Path  # pickled inputs
    seed: int

    @property
    def results(self) -> Path:
        return self.folder / "results.jsonl"

    @property
    def log(self) -> Path:
        """What native code prints past Python."""
        return self.folder / "log"

    def case_folder(self, number: int) -> Path:
        return self.folder / str(number)

    def run_in_process(self, numbers: range) -> tuple[list[Result], str]:
        """Results, as far as the process came; and why it ended before the last one, if it did."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        process = multiprocessing.get_context("spawn").Process(target=self.run, args=(numbers,))
        process.start()
        process.join()
        lines = self.results.read_bytes().splitlines() if self.results.exists() else []
        results = [msgspec.json.decode(line, type=Result) for line in lines]
        return results, "" if process.exitcode == 0 else self._death(process.exitcode)

    def buried(self, number: int, death: str) -> Result:
        """The result of the case that ended the process."""
        case = self.campaign().case(number)
        what, _, details = death.partition("\n")
        return Result(
            number=number,
            verb=case.attempt.verb,
            command=shlex.join(case.words),
            code=-1,
            recognised=True,
            findings={f"{case.attempt.verb} {what}": details},
        )

    def campaign(self) -> Campaign:
        return Campaign(pickle.loads(self.seeds.read_bytes()), self.seed)

    def run(self, numbers: range) -> None:
        """In the process: one case after another, each result written before the next case begins."""
        _confine(self.log)
        campaign = self.campaign()
        with self.results.open("ab", buffering=0) as file:
            for number in numbers:
                file.write(msgspec.json.encode(self._one(campaign, number)) + b"\n")

    def _one(self, campaign: Campaign, number: int) -> Result:
        folder = self.case_folder(number)
        before, printed = _peak_mb(), self.log.stat().st_size
        faulthandler.dump_traceback_later(WALL_LIMIT_S, exit=True)
        try:
            result = campaign.run(number, folder)
        finally:
            faulthandler.cancel_dump_traceback_later()
        findings = dict(result.findings)
        if (grown := _peak_mb() - before) > MEMORY_LIMIT_MB:
            findings["memory"] = f"{grown} MB"
        if result.code not in DOCUMENTED and _PANIC in (said := self.log.read_bytes()[printed:]):
            findings.setdefault("a panic", said.decode(errors="replace"))
        if not findings:
            shutil.rmtree(folder)
        return msgspec.structs.replace(result, findings=findings)

    def _death(self, exit_code: int | None) -> str:
        log = self.log.read_text(errors="replace")
        what = f"over {WALL_LIMIT_S} s" if "Timeout (" in log else f"process ended with {exit_code}"
        return f"{what}\n{log[-6000:]}"


def _confine(log: Path) -> None:
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
