"""Communication between GPUs."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Pace = Literal["link", "latency", "mixed", "slow", "slow or waiting", "waiting"]


class CollectiveTotal(msgspec.Struct, frozen=True, kw_only=True):
    """Collectives of one name, group, type and order of size (each at most twice the smallest)."""

    name: str
    group: str | None
    group_size: int | None
    dtype: str | None
    algorithm: str | None  # as the kernel is named
    calls: int  # of all ranks
    total_ns: int
    exposed_ns: (
        int | None
    )  # in which its GPU ran nothing else; None where its GPU or kernels are not recorded
    size_bytes: int | None  # of the ranks' inputs, where recorded
    message_bytes: int | None  # of one call, the largest: what nccl-tests calls the size
    transfer_ns: (
        int | None
    )  # of one call, the median: the shortest of its ranks, or as long as this rank was in it
    ranks: int  # over which that is the shortest: 1 where ranks are not matched
    bandwidth: Quantity  # of the algorithm
    bus_bandwidth: Quantity
    link: Quantity  # what the links allow
    least_bytes: int | None = None  # of one call, the smallest
    pace: Pace | None = None  # what holds it back, as far as that can be told


class Traffic(msgspec.Struct, frozen=True):
    """Bytes that ranks sent to one another, where the recording says to whom."""

    ranks: tuple[int, ...]
    sent_bytes: tuple[tuple[int, ...], ...]  # by sender, then by receiver
    basis: str  # what says so


class Communication(msgspec.Struct, frozen=True):
    """Kernels that communicate. Exposed time is time in which a GPU ran nothing else."""

    kernels: int
    busy_ns: int  # union, summed over GPUs
    exposed_ns: int
    exposed_share: Quantity  # of the windows of all GPUs
    rows: tuple[CollectiveTotal, ...]
    traffic: Traffic | None = None
    largest_group: int | None = None  # ranks, where recorded
    unavailable: str | None = None
