"""What comes back from the judged code: a timed lap, an outcome, or the reason why there is none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rocm_perf.bench.judge.values import Value
from rocm_perf.errors import EmptyCaptureError, RocmPerfError

BASE, NEW = "BASE", "NEW"


def boot_ns() -> int:
    """Now, on the clock on which our tracer records."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class JudgedError(RocmPerfError):
    """The code of one side failed: it raised, hung, died, or answered what is not an answer."""

    def __init__(self, side: str, reason: str) -> None:
        self.side = side
        self.reason = reason
        self.exit_code = RocmPerfError.exit_code if side == NEW else EmptyCaptureError.exit_code
        super().__init__(f"{side} failed", reason)


@dataclass(frozen=True)
class Lap:
    """Several calls, between two readings of the judge's clock."""

    started_ns: int  # boot clock
    ended_ns: int
    calls: int
    own_ns: int  # what the judged process says
    nonce: int
    checksums: tuple[int, ...]  # of each call's outputs, when the lap ended

    @property
    def wall_ns(self) -> int:
        return self.ended_ns - self.started_ns


@dataclass(frozen=True)
class Outcome:
    """What one call left."""

    result: Value
    arguments: Value  # as the call left them


class Side(Protocol):
    """One of the two functions that are compared."""

    def put(self, slot: int, arguments: Value) -> None: ...

    def run(self, slots: Sequence[int]) -> Lap: ...

    def handover(self, slots: Sequence[int]) -> Lap: ...

    def read(self, slot: int) -> Outcome: ...

    def cpu_ns(self) -> int: ...
