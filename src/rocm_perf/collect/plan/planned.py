"""What planning answers: the runs of the application, and why this profiler and not the next."""

from __future__ import annotations

import msgspec

from rocm_perf.backends.base import Command, Domain


class Rejected(msgspec.Struct, frozen=True):
    """A profiler that comes earlier in the order and cannot be used."""

    profiler: str
    reason: str


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the application."""

    number: int
    purpose: str  # "trace", "counters", "pc sampling", "thread trace", "timing", "unprofiled"
    profiler: str
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
    def is_fallback(self) -> bool:
        """It does less than was asked for, because the machine cannot do more: exit code 4."""
        return bool(self.could_not)
