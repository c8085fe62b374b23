"""Runs one verb in this process, and says what it did that no verb may do, whatever its input."""

from __future__ import annotations

import contextlib
import io
import os
import time
import traceback
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf.cli.main import main
from tests.fuzz.verbs.writes import watched_writes

OUTPUT = "output"
# docs/exit-codes.md, without those of signals, which nobody sends.
DOCUMENTED = frozenset(range(7)) | frozenset(range(20, 26))
CPU_LIMIT_S = 10.0
_DEFECT = 70
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_LAID_OUT = "\n\t"


@dataclass(frozen=True)
class Outcome:
    """What a verb printed and returned, or the error that left it."""

    code: int
    out: str
    err: str
    cpu_s: float
    error: BaseException | None = None


@dataclass(frozen=True)
class Verdict:
    """How a verb ended, and what is wrong with that."""

    code: int
    cpu_s: float
    findings: dict[str, str] = field(default_factory=dict)  # details by a short name that equal ones share


def judge(argv: Sequence[str], folder: Path, *, prints_data: bool = False) -> Verdict:
    """Run the verb in `folder`, which holds its input and the folder `output`, the only place to write to."""
    before = _listing(folder)
    with watched_writes(folder) as strays:
        outcome = run(argv, folder)
    findings = {**_judged(argv[0], outcome, prints_data), **_files(folder, before, outcome.code)}
    if strays:
        findings["a write outside of the output folder"] = ", ".join(sorted(set(strays)))
    return Verdict(outcome.code, outcome.cpu_s, findings)


def run(argv: Sequence[str], folder: Path) -> Outcome:
    """The verb with its streams caught, from within the folder."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    error: BaseException | None = None
    code, begun = _DEFECT, time.process_time()
    with _inside(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(argv)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except OSError as refused:  # with ROCM_PERF_DEBUG; without it, main says what the system refused
            code = 6
            print(refused, file=err)
        except BaseException as raised:  # noqa: BLE001  (a panic of Polars is not an Exception)
            error = raised
    return Outcome(code, _text(out), _text(err), time.process_time() - begun, error)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _text(stream: io.TextIOWrapper) -> str:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8", "surrogateescape")


def _judged(verb: str, outcome: Outcome, prints_data: bool) -> dict[str, str]:
    """What is wrong with how it ended and with what it printed."""
    if outcome.error:
        return {place(outcome.error): "".join(traceback.format_exception(outcome.error))}
    findings = {}
    if outcome.code not in DOCUMENTED:
        findings[f"{verb} ends with {outcome.code}"] = outcome.err
    if outcome.cpu_s > CPU_LIMIT_S:
        findings[f"{verb} is slow"] = f"{outcome.cpu_s:.0f} s of CPU time"
    if outcome.code and not outcome.err.strip():
        findings[f"{verb} ends with {outcome.code} without a word"] = outcome.out
    for name, text in (("stdout", "" if prints_data else outcome.out), ("stderr", outcome.err)):
        if "Traceback (most" in text:
            findings[f"{verb} prints a traceback on {name}"] = text
        if obeyed := sorted({letter for letter in text if is_obeyed(letter)}):
            codes = ", ".join(f"U+{ord(letter):04X}" for letter in obeyed)
            details = f"{codes}\n{_around(text, obeyed[0])}"
            findings[f"{verb} passes control characters on to {name}"] = details
    return findings


def is_obeyed(letter: str) -> bool:
    """Whether a terminal would do something else than show the character."""
    is_control = unicodedata.category(letter) in ("Cc", "Cs") and letter not in _LAID_OUT
    return is_control or letter in _BIDI


def place(error: BaseException) -> str:
    """Where in our code it happened; two findings with the same place are one."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "rocm_perf/" in frame.filename]
    inner = [frame for frame in frames if "cli/main.py" not in frame.filename] or frames
    where = f"{Path(inner[-1].filename).name} {inner[-1].name} {inner[-1].lineno}" if inner else "elsewhere"
    return f"{type(error).__name__} in {where}"


def _files(folder: Path, before: set[str], code: int) -> dict[str, str]:
    """What is wrong with the files that are there now."""
    findings = {}
    changed = _listing(folder) ^ before
    if outside := sorted(name for name in changed if not name.startswith(f"{OUTPUT}/")):
        findings["files beside the output folder"] = ", ".join(outside)
    elif code and changed:
        findings["files written although the verb failed"] = ", ".join(sorted(changed))
    for script in (folder / OUTPUT).glob("*.py"):
        try:
            compile(script.read_text(), script.name, "exec")
        except (SyntaxError, ValueError) as error:
            findings["a script that is not Python"] = str(error)
    return findings


def _around(text: str, letter: str) -> str:
    start = text.index(letter)
    return ascii(text[max(0, start - 100) : start + 100])


def _listing(folder: Path) -> set[str]:
    """Every path below, with the size of files."""
    return {
        f"{path.relative_to(folder)} {path.lstat().st_size if path.is_file() else ''}"
        for path in folder.rglob("*")
    }
