"""The roofline: how near each kernel comes to what its GPU can compute and move."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Regime = Literal["compute", "memory", "latency", "unknown"]


class Ceiling(msgspec.Struct, frozen=True):
    """One peak of a GPU: a rate of operations of one dtype on one kind of unit, or the bandwidth of one level."""

    name: str  # "f16 matrix", "f32 vector", "HBM", "L2", "LDS"
    kind: Literal["compute", "memory"]
    rate: Quantity  # TFLOP/s (TOP/s for integers) or TB/s
    measured: bool
    source: str  # the data sheet, or on which machine it was measured, and when
    ridge: Quantity | None = None  # of a compute ceiling: intensity above which memory is not the limit
    data_sheet: Quantity | None = None  # of a measured ceiling: what the catalogue has instead

    @property
    def origin(self) -> str:
        """Where the rate comes from: "measured on this machine on 2026-11-16", or the title of the data sheet."""
        return f"measured on {self.source}" if self.measured else self.source


class RooflineGpu(msgspec.Struct, frozen=True):
    """GPUs of one model, and their ceilings. Without ceilings, `unavailable` says why."""

    name: str
    gfx: str | None
    agents: tuple[int | None, ...]
    ceilings: tuple[Ceiling, ...]
    told_by: str
    notes: tuple[str, ...] = ()
    unavailable: str | None = None


class WorkPart(msgspec.Struct, frozen=True):
    """One kind of work of a kernel, as a mean over the dispatches of which it is known: operations of a dtype, or bytes
    of a level."""

    ceiling: str
    kind: Literal["compute", "memory"]
    amount: Quantity  # FLOP, OP or B
    rate: Quantity  # achieved: TFLOP/s, TOP/s or TB/s
    intensity: Quantity | None  # of a level: all FLOPs / its bytes, of the dispatches of which all is known
    percent_of_ceiling: Quantity
    basis: str  # "counters", "analytical from shapes"
    dispatches: int  # of which it is known


class Spread(msgspec.Struct, frozen=True):
    """One number over the dispatches of a kernel."""

    least: float
    median: float
    greatest: float
    dispatches: int
    doubt: str | None = None


class KernelRoofline(msgspec.Struct, frozen=True):
    """One kernel on GPUs of one model. Amounts and rates are means over the dispatches of which each is known, the time
    over those of which most is."""

    kernel: str
    short_name: str
    gpu: int  # place in Roofline.gpus
    calls: int
    total_ns: int
    basis: str
    dispatches: int  # of which most of its work is known; of how many each kind is, is said in `work`
    time_ns: Quantity
    work: tuple[WorkPart, ...]
    flops: Quantity
    bytes: Quantity  # of the device memory
    operational_intensity: Quantity
    tflops: Quantity
    tbytes: Quantity
    roof: Quantity  # TFLOP/s that the GPU reaches at that intensity
    percent_of_roof: Quantity
    position: str | None  # the ceiling that limits it: "memory (HBM)", "compute (f16 matrix)"
    regime: Regime
    reason: str
    spread: Spread | None  # of percent_of_roof
    evidence: dict[str, Quantity]  # occupancy and waits
    notes: tuple[str, ...] = ()


class Roofline(msgspec.Struct, frozen=True):
    """All kernels, longest total time first."""

    gpus: tuple[RooflineGpu, ...]
    kernels: tuple[KernelRoofline, ...]
    unavailable: str | None = None
