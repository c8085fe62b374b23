"""How kernels use the GPU: whether on matrix units, and how many of its waves they keep in flight."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class KernelUse(msgspec.Struct, frozen=True):
    """One kernel."""

    kernel: str
    short_name: str
    calls: int
    total_ns: int
    share: float  # of the kernel time
    matrix_units: bool | None  # None: neither a counter nor the name says
    occupancy: Quantity  # achieved


class GpuUse(msgspec.Struct, frozen=True):
    """Kernels by their time, the longest first, and all of them together."""

    kernels: tuple[KernelUse, ...]
    matrix_share: Quantity
    occupancy: Quantity
    unavailable: str | None = None
