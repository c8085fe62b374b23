"""Named ranges of the program: what each cost on the host and on the GPU."""

from __future__ import annotations

import msgspec


class RangeCall(msgspec.Struct, frozen=True):
    """One time the range was open."""

    start_ns: int
    host_ns: int
    kernels: int
    gpu_ns: int
    gap_ns: int


class RangeTotal(msgspec.Struct, frozen=True):
    """All calls of a range at one place of the nesting, with what lies inside it.

    gpu_ns is the union of its kernels' intervals, call by call; gap_ns the time between the first and the last kernel
    of a call in which none of them ran.
    """

    path: tuple[str, ...]  # names from the outermost range to this one
    source: str
    depth: int
    calls: int
    host_ns: int
    kernels: int
    own_kernels: int  # those in no range inside this one
    gpu_ns: int
    gap_ns: int
    mean_host_ns: float
    min_host_ns: int
    max_host_ns: int
    slowest: tuple[RangeCall, ...]


class Ranges(msgspec.Struct, frozen=True):
    """Ranges in the order of their nesting: a parent comes before its children."""

    rows: tuple[RangeTotal, ...]
    marks: int  # instants that were marked; they contain nothing
    by_launch: int  # kernels whose launching call lies in a range, on its thread
    by_time: int  # kernels launched (run, if that is not recorded) while a range of another thread was open
    outside: int  # kernels in no range
    unavailable: str | None = None
