"""The critical path of a recording: what its wall time consists of, link by link."""

from __future__ import annotations

import msgspec


class Estimate(msgspec.Struct, frozen=True):
    """A usual delay, taken from the recording itself."""

    name: str
    value_ns: int
    samples: int  # 0: nothing in the recording shows it
    how: str


class EdgeCount(msgspec.Struct, frozen=True):
    """Edges of one kind that are known in one way."""

    kind: str
    known: str  # "recorded", or "inferred: the rule"
    count: int
    binding: int  # those that explain the start of their effect


class Link(msgspec.Struct, frozen=True):
    """A span of the critical path that one thing accounts for.

    `kind`: kernel, copy, collective, api (a host call), op, host (time between calls), launch_latency, queue_gap,
    event_wait, room_wait (for space on the GPU), sync_return (from the end of the work to the return of the call that
    waited), collective_wait, unrecorded.
    """

    kind: str
    name: str
    start_ns: int  # from the first start of the recording
    duration_ns: int


class Pattern(msgspec.Struct, frozen=True):
    """Consecutive links that the path repeats; durations are those of the first repetition."""

    links: tuple[Link, ...]
    repeats: int
    total_ns: int


class KernelOnPath(msgspec.Struct, frozen=True):
    """One kernel: its part of the path, and how much later it could run."""

    kernel: str
    dispatches: int
    path_ns: int
    critical_path_score: float  # share of the path's time in this kernel, 0 to 1
    slack_min_ns: int
    slack_median_ns: int
    impact_ns: int  # what 10 % off every dispatch of this kernel takes off the wall
    half_ns: int  # the same for 50 %: another kernel, or the host, may be the limit by then
    whole_ns: int  # the same without this kernel
    impact_basis: str  # "re-timed", "off the path" or "at most"


class CriticalPath(msgspec.Struct, frozen=True):
    """The links from the first start to the last end; their durations sum to the wall time."""

    total_ns: int
    wall_ns: int
    links: int
    by_kind: dict[str, int]
    by_rank: dict[str, int]  # nanoseconds on each rank, most first; empty where ranks are not recorded
    by_kernel: tuple[KernelOnPath, ...]  # longest on the path first
    longest: tuple[Link, ...]
    pattern: Pattern | None
    nodes: dict[str, int]
    edges: tuple[EdgeCount, ...]
    estimates: tuple[Estimate, ...]
    missing: tuple[str, ...]
