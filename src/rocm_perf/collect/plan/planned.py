"""What planning answers: the runs of the application, and why this profiler and not the next."""

from __future__ import annotations

import msgspec

from rocm_perf.backends.base import Command, Domain

WALL_TIME = "wall time"  # the purpose of a run without a profiler, where no other can be had


class Rejected(msgspec.Struct, frozen=True):
    """A profiler that comes earlier in the order and cannot be used."""

    profiler: str
    reason: str


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the application."""

    number: int
    purpose: str  # a Purpose, or WALL_TIME
    profiler: str
    profiled: bool = True  # False: the application runs alone
    folder: str  # relative to the process's folder: pass_1
    command: Command
    domains: tuple[Domain, ...] = ()
    counters: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One way to do what was asked for. The first of several is tried first, the others when it records nothing."""

    profiler: str
    why: str
    rejected: tuple[Rejected, ...] = ()
    runs: tuple[PlannedRun, ...]
    could_not: tuple[str, ...] = ()  # what was asked for and is not planned, each with the reason
    notices: tuple[str, ...] = ()

    @property
    def profiled(self) -> bool:
        """Whether it records more than the wall time of the application."""
        return self.runs[0].profiled
