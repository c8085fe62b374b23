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


class Communication(msgspec.Struct, frozen=True):
    """Kernels that communicate. Exposed time is time in which a GPU ran nothing else."""

    kernels: int
    busy_ns: int  # union, summed over GPUs
    exposed_ns: int
    exposed_share: Quantity  # of the windows of all GPUs
    rows: tuple[CollectiveTotal, ...]
    unavailable: str | None = None
