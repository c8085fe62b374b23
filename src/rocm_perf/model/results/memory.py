"""Device memory over time."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class MemoryGrowth(msgspec.Struct, frozen=True):
    """How the memory in use developed from step to step."""

    basis: str  # what a step is
    levels_bytes: tuple[int, ...]  # one per step
    per_step: Quantity
    suspicious: bool  # it rose in every step


class MemoryUse(msgspec.Struct, frozen=True):
    """Memory in use on one GPU, as one source saw it."""

    node: int
    agent_id: int | None
    level: str  # REAL, CACHED (the framework's allocator), ... or the name of a sampled metric
    source: str  # allocations or samples
    first_bytes: int
    last_bytes: int
    peak_bytes: int
    peak_ns: int
    allocations: int
    frees: int
    frees_without_allocation: int  # of memory allocated before the recording: they do not count
    reused_addresses: int  # allocated again with no free between: the free was not recorded
    growth: MemoryGrowth | None
    growth_unavailable: str | None
    start_ns: int
    step_ns: float
    series_bytes: tuple[int, ...]  # highest of each step; at most 400


class Memory(msgspec.Struct, frozen=True):
    """Memory in use, by GPU and level; what allocations say counts from the start of the recording."""

    rows: tuple[MemoryUse, ...]
    untimed: int  # allocations without a time or a size
    unavailable: str | None = None
