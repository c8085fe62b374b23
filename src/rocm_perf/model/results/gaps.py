"""Idle time of GPUs: how much, when, and why."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Cause = Literal[
    "host_sync",  # the host waited for the GPU, and launched too late
    "host_api",  # the host was inside another call: launching, allocating, loading a module, compiling
    "copy",  # the host was inside a copying call, or a copy of another stream was awaited
    "framework",  # the host was between calls, in a process whose operators are recorded
    "loading",  # the host was between calls, inside a range or an operator that is named after the loading of data
    "host_busy",  # the host was between calls, and nothing says what it did
    "launch_latency",  # the launching call had returned, and the GPU had yet to begin
    "event",  # launched, and held back by an event of another stream
    "collective",  # launched, and held back by a collective of another stream
    "queue_gap",  # everything had been launched; the queue was slow
    "unrecorded",  # launched or awaited, while nothing that was recorded ran: the GPU worked on something else
    "nothing_recorded",  # the launching call is not in the recording
]
# What people read for each.
CAUSE_NAMES: dict[str, str] = {
    "host_sync": "host sync",
    "host_api": "other host calls",
    "copy": "copies",
    "framework": "framework and Python",
    "loading": "data loader",
    "host_busy": "host busy elsewhere",
    "launch_latency": "launch latency",
    "event": "event of another stream",
    "collective": "collective",
    "queue_gap": "queue gaps",
    "unrecorded": "work that was not recorded",
    "nothing_recorded": "nothing recorded",
}
Level = Literal["gpu", "queue", "stream"]


class CauseTime(msgspec.Struct, frozen=True):
    """One cause over all idle intervals."""

    cause: Cause
    total_ns: int
    gaps: int  # that it contributes to
    share: float  # of the idle time


class CallTime(msgspec.Struct, frozen=True):
    """One function that the launching threads were in while the GPU was idle."""

    cause: Cause
    call: str
    total_ns: int


class RangeTime(msgspec.Struct, frozen=True):
    """One named range that launching threads were in while the GPU was idle; where they were in none, one of other
    threads, after which they went on, or else a Python function."""

    name: str
    idle_ns: (
        int  # of the idle time before launches, inside the range; of other threads, in at least one of them
    )
    total_ns: int  # of the range or function
    in_other_threads: bool = False


class Gap(msgspec.Struct, frozen=True):
    """One idle interval. The causes sum to its length."""

    node: int
    agent_id: int | None
    start_ns: int
    end_ns: int
    cause: Cause  # the longest of its causes
    causes: dict[str, int]
    before: str  # kernel or copy that ended last
    after: str  # kernel or copy that ended the gap
    calls: tuple[str, ...]  # functions that the launching thread was in, longest first

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


class PlaceGaps(msgspec.Struct, frozen=True):
    """All idle intervals of one GPU, queue or stream, between its first and its last work."""

    level: Level
    node: int
    agent_id: int | None
    queue_id: int | None
    stream_id: int | None
    gaps: int
    idle_ns: int
    causes: dict[str, int]


class Bin(msgspec.Struct, frozen=True):
    """Gaps that last at least `from_ns` and less than `to_ns`."""

    from_ns: int
    to_ns: int
    gaps: int
    total_ns: int


class LongGaps(msgspec.Struct, frozen=True):
    """Gaps of a millisecond or more: too long for what a launch takes, so the host did something else."""

    gaps: int
    host_ns: int  # of these in which the launching thread was in no call, nor in an operator


class Gaps(msgspec.Struct, frozen=True):
    """Idle time of all GPUs, and of each queue and stream of them.

    Totals, distribution and the worst gaps are those of whole GPUs: an instant at which any queue works is not idle.
    """

    idle_ns: int
    gaps: int
    causes: tuple[CauseTime, ...]  # longest first
    calls: tuple[CallTime, ...]  # longest first
    first_uses: tuple[CallTime, ...]  # of these the part in one-off calls: loading of code, initialisation
    ranges: tuple[RangeTime, ...]  # those that hold most of the host's part, the most specific first
    places: tuple[PlaceGaps, ...]
    median_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    longest_ns: int | None
    histogram: tuple[Bin, ...]
    worst: tuple[Gap, ...]
    sync_between: Quantity  # share of gaps with a synchronising call between the launches on both sides
    long: LongGaps = LongGaps(0, 0)
    doubt: str | None = None  # why this is not the program's idle time: nothing is concluded from it
    not_attributed: str | None = None  # why some or all of the time has the cause nothing_recorded
    unavailable: str | None = None
