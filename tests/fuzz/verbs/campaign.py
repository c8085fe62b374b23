"""One numbered case after another: the same seed and number always give the same input and command line."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from unittest.mock import patch

import msgspec

from tests.fuzz.verbs.attempts import ATTEMPTS, Attempt, Places
from tests.fuzz.verbs.change import changed
from tests.fuzz.verbs.inputs import Input, Kind
from tests.fuzz.verbs.judge import OUTPUT, judge
from tests.fuzz.verbs.recognise import is_recognised

_OTHER = "other"
_TEMPORARY = "tmp"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one case."""

    number: int
    verb: str
    command: str
    code: int
    recognised: bool
    cpu_s: float = 0
    findings: dict[str, str] = {}  # details by name


@dataclass(frozen=True)
class Case:
    """A verb, its hostile input, and its command line as typed in the folder of the case."""

    number: int
    attempt: Attempt
    inputs: tuple[Input, ...]
    words: list[str]


@dataclass(frozen=True)
class Campaign:
    """The cases that follow from a seed."""

    inputs: Sequence[Input]
    seed: int

    def case(self, number: int) -> Case:
        random = Random(f"{self.seed}/{number}")
        attempt = self._attempt(random)
        pool = [each for each in self.inputs if each.kind == attempt.kind]
        start = random.choice([each for each in pool if each.holds(attempt.needs)])
        hostile = changed(start, pool, random)
        other = replace(random.choice((start, random.choice(pool))), name=_OTHER)
        words = attempt.words(Places(start.name, _OTHER, Path(OUTPUT)), random)
        return Case(number, attempt, (hostile, other) if _OTHER in words else (hostile,), words)

    def run(self, number: int, folder: Path) -> Result:
        """Lay the case out in an empty folder, and run it there."""
        case = self.case(number)
        lay_out(case, folder)
        path = folder / case.inputs[0].name
        recognised = is_recognised(case.attempt.kind, path)
        with _surroundings(case.attempt.kind, folder):
            verdict = judge(case.words, folder, prints_data=case.attempt.prints_data(case.words))
        return Result(
            number=number,
            verb=case.attempt.verb,
            command=shlex.join(case.words),
            code=verdict.code,
            recognised=recognised,
            cpu_s=verdict.cpu_s,
            findings=verdict.findings,
        )

    def _attempt(self, random: Random) -> Attempt:
        kinds = {each.kind for each in self.inputs}
        possible = [attempt for attempt in ATTEMPTS if attempt.kind in kinds]
        return random.choices(possible, weights=[attempt.weight for attempt in possible])[0]


def lay_out(case: Case, folder: Path) -> None:
    """What the command line needs, in its folder."""
    for name in (OUTPUT, _TEMPORARY):
        (folder / name).mkdir(parents=True)
    for each in case.inputs:
        each.lay_out(folder)


@contextmanager
def _surroundings(kind: Kind, folder: Path) -> Iterator[None]:
    """A home and a temporary folder of its own, and errors of ours with their place."""
    temporary = str(folder / _TEMPORARY)
    variables = {"HOME": temporary, "TMPDIR": temporary, "ROCM_PERF_DEBUG": "1", "COLUMNS": "100"}
    if kind == "gpus":
        variables["ROCM_PERF_GPUS"] = str(folder / "input")
    with patch.dict(os.environ, variables), patch.object(tempfile, "tempdir", temporary):
        yield
