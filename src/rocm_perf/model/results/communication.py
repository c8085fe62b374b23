"""Communication between GPUs."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class CollectiveTotal(msgspec.Struct, frozen=True):
    """All collectives of one name and group."""

    name: str
    group: str | None
    calls: int
    total_ns: int
    size_bytes: int | None  # of this rank's inputs, where recorded
    bandwidth: Quantity


class RankWait(msgspec.Struct, frozen=True):
    """How long one rank, or GPU where ranks are not recorded, was in collectives before the last one had come."""

    rank: str  # "rank 3" or "GPU 3"
    waited_ns: int


class Straggler(msgspec.Struct, frozen=True):
    """The rank that enters nearly every collective last, on one clock."""

    rank: str
    last_in: int  # collectives
    collectives: int  # that were compared: all ranks were in them at one time
    together_ns: int  # that they last once all have come
    waits: tuple[RankWait, ...]  # of the others, longest first


class Communication(msgspec.Struct, frozen=True):
    """Kernels that communicate. Exposed time is time in which a GPU ran nothing else."""

    kernels: int
    busy_ns: int  # union, summed over GPUs
    exposed_ns: int
    exposed_share: Quantity  # of the windows of all GPUs
    rows: tuple[CollectiveTotal, ...]
    straggler: Straggler | None = None
    largest_group: int | None = None  # ranks, where recorded
    unavailable: str | None = None
