"""What a page asks the worker process for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rocm_perf.model.machine_ceilings import MachineCeilings
from rocm_perf.serve.folders import Run

Kind = Literal["report", "trace", "comparison"]

# What is made of a wish, as files of its folder.
REPORT, SAVED, SUMMARY = "report.html", "saved.html", "summary.json"
TRACE, COMPARISON = "trace.pftrace", "comparison.html"


@dataclass(frozen=True)
class Wish:
    """One thing to be made of some runs: a report or a Perfetto trace of one, a comparison of two sides."""

    kind: Kind
    base: tuple[Run, ...]
    new: tuple[Run, ...] = ()

    @property
    def id(self) -> str:
        """The same for the same wish about the same files."""
        sides = [[(run.id, run.version) for run in side] for side in (self.base, self.new)]
        return hashlib.blake2b(repr((self.kind, sides)).encode(), digest_size=8).hexdigest()

    @property
    def runs(self) -> tuple[Run, ...]:
        return self.base + self.new


@dataclass(frozen=True)
class Order:
    """A wish as the worker process gets it."""

    wish: Wish
    tops: tuple[Path, ...]  # nothing outside them is read
    folder: Path  # for what is made
    machines: tuple[MachineCeilings, ...]
    asked_by: int  # the process that waits for it
