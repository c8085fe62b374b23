"""Every published way to cheat, tried on a real GPU: refused by its gate, and let through where all gates are open.

python tests/gpu/optimize/cheats_h200.py OUT [NAME ...]

Where a gate judges by time, nothing runs beside the cheat; the others share the GPU, so that it is chance whether such
a gate is among those that stop them. Needs nvcc, and rocm_perf with its dependencies importable (PYTHONPATH=src:.).
Each cheat is a line of OUT/cheats.jsonl, written at once; OUT/cheats.md is the table. Exit code 1 if one got through,
or was not stopped where it should be.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from tests.gpu.optimize.cheats.table import CHEATS, PUBLISHED, TESTBED, Cheat
from tests.gpu.optimize.judging import Outcome, outcome
from tests.gpu.optimize.laboratories import laboratory_of

from rocm_perf.optimize.gates import GATES, Gate
from rocm_perf.optimize.loop.trial import Laboratory, Trial, Version

AT_ONCE = 4  # processes, each with a runner on the GPU
MOST = 3  # cheats that share what was captured
BY_TIME: tuple[Gate, ...] = ("floor", "gain", "program")


@dataclass(frozen=True)
class Judged:
    """A cheat, with all gates closed, and with all of them open."""

    cheat: Cheat
    closed: Outcome
    open: Outcome
    seconds: float

    @property
    def is_caught(self) -> bool:
        """Whether the gate that is meant for it was the first to stop it."""
        return not self.closed.got_through and self.closed.stopped_by[:1] == (self.cheat.gate,)

    @property
    def line(self) -> dict[str, object]:
        """As a line of JSON."""
        return {
            "name": self.cheat.name, "program": self.cheat.program, "gate": self.cheat.gate,
            "caught": self.is_caught, "stopped_by": self.closed.stopped_by, "failure": self.closed.failure,
            "words": [one.words for one in self.closed.passages if not one.passed],
            "all_that_stop_it": self.open.stopped_by, "through_with_these_open": self.open.got_through,
            "open_failure": self.open.failure, "seconds": round(self.seconds, 1),
        }  # fmt: skip

    @property
    def row(self) -> str:
        """As a row of the table."""
        words = next((one.words for one in self.closed.passages if not one.passed), self.closed.failure)
        further = [gate for gate in self.open.stopped_by if gate not in self.closed.stopped_by]
        opened = "yes" if self.open.got_through else f"no: {self.open.failure}"
        cells = (
            self.cheat.name, self.cheat.trick, self.cheat.here, ", ".join(self.closed.stopped_by) or "**none**",
            words, ", ".join(further) or "-", opened,
        )  # fmt: skip
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def judged(cheat: Cheat, laboratory: Laboratory, version: Version) -> Judged:
    """Take a cheat through the gates twice."""
    begun = time.monotonic()
    closed = outcome(laboratory, cheat.candidate, version)
    opened = outcome(laboratory, cheat.candidate, version, frozenset(GATES))
    return Judged(cheat, closed, opened, time.monotonic() - begun)


def table(all_judged: list[Judged]) -> str:
    """What came of all cheats, in Markdown."""
    published = [one for one in all_judged if one.cheat in PUBLISHED]
    through = sum(one.closed.got_through for one in published)
    head = (
        f"{through} of {len(published)} published cheats pass.\n\n"
        "| cheat | as published | here | stopped by | because | also by | passes with these open |\n"
        "|---|---|---|---|---|---|---|"
    )
    return "\n".join([head, *(one.row for one in all_judged)]) + "\n"


def of_program(cheats: list[Cheat], folder: Path) -> list[Judged]:
    """The outcome of some cheats in one program."""
    with laboratory_of(folder / cheats[0].program, cheats[0].kernel) as laboratory:
        laboratory.prepare([Trial.of(cheat.candidate, laboratory.start) for cheat in cheats])
        return [judged(cheat, laboratory, laboratory.start) for cheat in cheats]


def pieces(cheats: list[Cheat]) -> list[list[Cheat]]:
    """Cheats of one program each, a few at a time."""
    by_program = groupby(sorted(cheats, key=lambda one: one.program), key=lambda one: one.program)
    groups = [list(group) for _, group in by_program]
    return [group[start : start + MOST] for group in groups for start in range(0, len(group), MOST)]


def all_judged(cheats: list[Cheat], folder: Path) -> Iterator[Judged]:
    """Every cheat, as soon as it is judged: those that are judged by their time first, with nothing beside them."""
    for piece in pieces([cheat for cheat in cheats if cheat.gate in BY_TIME]):
        yield from of_program(piece, folder)
    with ProcessPoolExecutor(
        AT_ONCE, get_context("spawn")
    ) as pool:  # a forked copy of a pool of threads has none
        others = pieces([cheat for cheat in cheats if cheat.gate not in BY_TIME])
        for future in as_completed([pool.submit(of_program, piece, folder) for piece in others]):
            yield from future.result()


def main(out: Path, names: list[str]) -> int:
    """Try the cheats that are named, or all."""
    folder = out / "testbed"
    shutil.copytree(TESTBED, folder, dirs_exist_ok=True)
    everything: list[Judged] = []
    with (out / "cheats.jsonl").open("w") as file:
        for one in all_judged([cheat for cheat in CHEATS if not names or cheat.name in names], folder):
            everything.append(one)
            print(json.dumps(one.line), file=file, flush=True)
            print("as expected" if one.is_caught else "NOT AS EXPECTED", json.dumps(one.line), flush=True)
    everything.sort(key=lambda one: CHEATS.index(one.cheat))
    (out / "cheats.md").write_text(table(everything))
    return int(not all(one.is_caught for one in everything))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
