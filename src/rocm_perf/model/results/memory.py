"""Device memory over time, and who holds it."""

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


class OwnerBytes(msgspec.Struct, frozen=True):
    """What one kind of owner held at the peak."""

    owner: str  # parameters, gradients, activations, ... or "not known"
    bytes: int
    allocations: int
    known_by: str  # how the owner was told


class SiteBytes(msgspec.Struct, frozen=True):
    """What one place in the program had allocated, and still held at the peak."""

    site: str
    owner: str
    bytes: int
    allocations: int


class MemoryPeak(msgspec.Struct, frozen=True):
    """The moment at which most memory was in use on one GPU, by the framework's own account."""

    node: int
    agent_id: int | None
    level: str
    bytes: int
    peak_ns: int
    requested_bytes: int | None  # what the program had asked for, before it was rounded up
    owners: tuple[OwnerBytes, ...]  # the largest first; they sum to `bytes`
    sites: tuple[SiteBytes, ...]  # the largest first
    sites_left_out: int


class GrowingSite(msgspec.Struct, frozen=True):
    """A place in the program that holds more memory after every step."""

    node: int
    agent_id: int | None
    level: str
    site: str
    owner: str
    basis: str  # what a step is
    levels_bytes: tuple[int, ...]  # what it held after each step
    per_step: Quantity


class Fragmentation(msgspec.Struct, frozen=True):
    """What the framework's allocator has reserved on one GPU, and how much of it is in use."""

    node: int
    agent_id: int | None
    reserved_bytes: int
    allocated_bytes: int
    pending_bytes: int  # freed, and still in use by another stream
    free_bytes: int
    split_bytes: int  # free, in segments that are in use otherwise: no other segment can be made of it
    releasable_bytes: int  # free segments, which torch.cuda.empty_cache() gives back
    largest_free_bytes: int
    rounding_bytes: int | None  # allocated beyond what was asked for
    segments: int
    split: Quantity  # split_bytes / reserved_bytes


class OutOfMemory(msgspec.Struct, frozen=True):
    """An allocation that failed."""

    node: int
    agent_id: int | None
    time_ns: int | None
    requested_bytes: int | None
    site: str


class Capacity(msgspec.Struct, frozen=True):
    """The memory that a GPU has, and the most of it that was taken."""

    node: int
    agent_id: int | None
    capacity_bytes: int
    peak_bytes: int
    measured: str  # what the peak is of: a level or a metric
    used: Quantity  # peak_bytes / capacity_bytes


class Memory(msgspec.Struct, frozen=True):
    """Memory in use, by GPU and level; what allocations say counts from the start of the recording."""

    rows: tuple[MemoryUse, ...]
    untimed: int  # allocations without a time or a size
    unavailable: str | None = None
    peaks: tuple[MemoryPeak, ...] = ()
    owners_unavailable: str | None = None
    growing: tuple[GrowingSite, ...] = ()  # the fastest first
    fragmentation: tuple[Fragmentation, ...] = ()
    fragmentation_unavailable: str | None = None
    out_of_memory: tuple[OutOfMemory, ...] = ()
    capacity: tuple[Capacity, ...] = ()
