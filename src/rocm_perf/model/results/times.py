"""Where time went: kernels, GPUs and their queues, calls of the host, copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from rocm_perf.model.quantity import Quantity

GpuName = Callable[[int, int | None], str]  # what the GPU of a node and an agent is called


class Durations(msgspec.Struct, frozen=True):
    """How long the dispatches of a kernel took, thinned to at most 32 numbers each."""

    course_ns: tuple[
        float, ...
    ]  # means of consecutive equal parts of its dispatches, in the order of their starts
    counts: tuple[int, ...]  # dispatches between the shortest and the longest, in buckets of equal ratio


class Hotspot(msgspec.Struct, frozen=True):
    """One kernel, over all its dispatches."""

    kernel: str  # full name as recorded, or the short name when grouped by it
    short_name: str
    calls: int
    total_ns: int
    mean_ns: float
    median_ns: float | None  # None where only the profiler's own statistics exist
    min_ns: int | None
    max_ns: int | None
    share: float  # of the summed kernel time
    durations: Durations | None = None  # of the first kernels, where single dispatches are recorded


class Hotspots(msgspec.Struct, frozen=True):
    """All kernels, longest total first, and what the times are based on."""

    rows: tuple[Hotspot, ...]
    basis: str
    kernels: int
    dispatches: int
    total_ns: int
    unavailable: str | None = None


class DeviceTime(msgspec.Struct, frozen=True):
    """How one GPU, or one queue or stream of it, spent its window. busy + idle = window."""

    node: int
    agent_id: int | None
    queue_id: int | None
    stream_id: int | None
    name: str
    dispatches: int
    copies: int
    window_ns: int
    busy_ns: int
    kernel_ns: int
    copy_ns: int
    idle_ns: int
    busy: Quantity
    rank: int | None = None  # that used it, where several ranks are recorded

    @property
    def number(self) -> str:
        """The GPU by its number and, of several ranks, by the one that used it: "GPU 4 (rank 2)"."""
        return gpu_number(self.agent_id, self.rank)


def gpu_number(agent_id: int | None, rank: int | None) -> str:
    """What a GPU is called by its number, and by the rank that used it."""
    gpu = "GPU" if agent_id is None else f"GPU {agent_id}"
    return gpu if rank is None else f"{gpu} (rank {rank})"


def gpu_numbers(devices: Iterable[DeviceTime]) -> GpuName:
    """Return how to call the GPU of a node and an agent wherever it is named."""
    names = {(device.node, device.agent_id): device.number for device in devices}
    return lambda node, agent_id: names.get((node, agent_id)) or gpu_number(agent_id, None)


class DomainTotal(msgspec.Struct, frozen=True):
    """One kind of host activity."""

    domain: str
    calls: int
    total_ns: int
    union_ns: int
    busiest: str
    busiest_ns: int


class CopyTotal(msgspec.Struct, frozen=True):
    """One direction of copies."""

    kind: str
    copies: int
    total_ns: int
    size_bytes: int | None
    bandwidth: Quantity
