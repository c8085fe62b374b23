"""What the instructions of a kernel cost: thread trace (cycles) and PC samples."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class InstructionCost(msgspec.Struct, frozen=True):
    """One instruction, over all traced dispatches, waves and shader engines. Latency includes stall."""

    pc: int | None
    text: str
    source: str | None
    kind: str
    hits: int
    latency_cycles: int
    stall_cycles: int
    idle_cycles: int
    cycles_per_hit: float | None  # latency / hits
    share: float  # (latency + idle) of the kernel's total


class LineCost(msgspec.Struct, frozen=True):
    """All instructions of one source line."""

    source: str
    hits: int
    latency_cycles: int
    stall_cycles: int
    share: float


class ClassCost(msgspec.Struct, frozen=True):
    """All instructions of one class."""

    kind: str
    instructions: int  # in the code
    hits: int
    latency_cycles: int
    stall_cycles: int
    idle_cycles: int


class StallCause(msgspec.Struct, frozen=True):
    """Why waves stalled, judging by the instruction that they stalled at."""

    cause: str
    stall_cycles: int
    share: float  # of all stall cycles


class KernelInstructions(msgspec.Struct, frozen=True):
    """One traced kernel. total = latency + idle; stall is a part of latency."""

    kernel: str | None
    dispatches: int
    instructions: int
    hits: int
    total_cycles: int
    latency_cycles: int
    stall_cycles: int
    idle_cycles: int
    issue_efficiency: Quantity
    stall_share: Quantity
    vector_memory_wait: Quantity
    lds_scalar_wait: Quantity
    classes: tuple[ClassCost, ...]
    causes: tuple[StallCause, ...]
    hottest: tuple[InstructionCost, ...]
    lines: tuple[LineCost, ...]
    lines_unavailable: str | None = None
    doubt: str | None = None


class ThreadTrace(msgspec.Struct, frozen=True):
    """All traced kernels, costliest first."""

    kernels: tuple[KernelInstructions, ...]
    waves: int
    shader_engines: int
    mean_wave_cycles: float | None
    unavailable: str | None = None


class SampleCount(msgspec.Struct, frozen=True):
    """Samples of an instruction, a source line, a class or a reason."""

    name: str
    samples: int
    share: float
    issued: int | None = None  # those in which the wave issued; None if the method does not show it
    source: str | None = None


class KernelSamples(msgspec.Struct, frozen=True):
    """PC samples of one kernel."""

    kernel: str | None  # None if its dispatch is not recorded
    dispatches: int
    samples: int
    method: str
    issued: Quantity
    lanes_active: Quantity  # share of a wave's lanes, over all samples
    partial_waves: Quantity  # share of samples with some lanes off: divergence, or a grid's last wave
    instructions: tuple[SampleCount, ...]
    lines: tuple[SampleCount, ...]
    classes: tuple[SampleCount, ...]
    stall_reasons: tuple[SampleCount, ...]
    lines_unavailable: str | None = None
    stall_reasons_unavailable: str | None = None


class PcSamples(msgspec.Struct, frozen=True):
    """All sampled kernels, most samples first."""

    kernels: tuple[KernelSamples, ...]
    samples: int
    unavailable: str | None = None
