"""What launching costs: per kernel, and per function of the runtime."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class KernelLaunch(msgspec.Struct, frozen=True):
    """How one kernel was launched.

    The queue delay runs from the return of the launching call to the start of the kernel. It is negative where the
    kernel began before the call returned, and within a graph it includes the kernels of the graph before this one.
    """

    kernel: str
    dispatches: int  # those whose launching call is recorded
    calls: int  # distinct launching calls; a graph launch starts many kernels
    call_median_ns: float
    call_p95_ns: float
    call_total_ns: int  # each call once
    delay_median_ns: float
    delay_p95_ns: float
    delay_total_ns: int  # negative ones count as zero
    began_early: int  # dispatches that began before the call returned


class ApiFunction(msgspec.Struct, frozen=True):
    """One function of an API."""

    domain: str
    name: str
    calls: int
    total_ns: int
    mean_ns: float
    union_ns: int  # time in which at least one thread was inside it
    share: Quantity  # of the wall


class GraphLaunches(msgspec.Struct, frozen=True):
    """Calls that start whole graphs."""

    calls: int
    dispatches: int
    call_total_ns: int


class Launches(msgspec.Struct, frozen=True):
    """All kernels with a recorded launch, by the time of their calls, and all functions by total time."""

    calls: int  # distinct launching calls
    call_ns: int  # their time, each call once
    kernels: tuple[KernelLaunch, ...]
    functions: tuple[ApiFunction, ...]
    graphs: GraphLaunches | None
    latency_ns: float | None  # median delay of kernels that found the GPU idle
    not_paired: int  # dispatches whose launching call is not recorded
    one_off_calls: int = 0  # of the launching calls: took far longer than others do, as when code is loaded
    one_off_ns: int = 0
    unavailable: str | None = None
