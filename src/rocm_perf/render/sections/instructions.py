"""What the instructions of kernels cost: thread trace and PC samples."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.instructions import (
    ClassCost,
    InstructionCost,
    KernelInstructions,
    KernelSamples,
    LineCost,
    SampleCount,
    StallCause,
)
from rocm_perf.render.sections.section import (
    Columns,
    Grid,
    Section,
    code,
    count,
    explained,
    grids,
    rate,
    share,
    text,
)
from rocm_perf.units import format_count

_KERNELS = 3  # shown instruction by instruction
_UNKNOWN = "unknown kernel"

_INSTRUCTION_COLUMNS: Columns[InstructionCost] = (
    explained(
        "share", share, lambda row: row.share, "(latency_cycles + idle_cycles) / total_cycles of the kernel"
    ),
    explained("hits", count, lambda row: row.hits, "times that a wave executed the instruction"),
    explained("cycles/hit", rate, lambda row: row.cycles_per_hit, "latency_cycles / hits"),
    explained(
        "stall",
        count,
        lambda row: row.stall_cycles,
        "cycles of its latency in which the wave could not go on",
    ),
    explained(
        "idle",
        count,
        lambda row: row.idle_cycles,
        "cycles between the end of the instruction before and the issue of this one",
    ),
    text("class", lambda row: row.kind),
    code("instruction", lambda row: row.text),
    code("source", lambda row: row.source or ""),
)
_LINE_COLUMNS: Columns[LineCost] = (
    explained(
        "share",
        share,
        lambda row: row.share,
        "(latency_cycles + idle_cycles) of the line / total_cycles of the kernel",
    ),
    explained("hits", count, lambda row: row.hits, "sum of hits over the instructions of the line"),
    explained(
        "latency",
        count,
        lambda row: row.latency_cycles,
        "sum of latency_cycles over the instructions of the line; stall is a part of it",
    ),
    explained(
        "stall", count, lambda row: row.stall_cycles, "sum of stall_cycles over the instructions of the line"
    ),
    code("source", lambda row: row.source),
)
_CLASS_COLUMNS: Columns[ClassCost] = (
    explained(
        "latency",
        count,
        lambda row: row.latency_cycles,
        "sum of latency_cycles over the instructions of the class; stall is a part of it",
    ),
    explained(
        "stall", count, lambda row: row.stall_cycles, "sum of stall_cycles over the instructions of the class"
    ),
    explained(
        "idle", count, lambda row: row.idle_cycles, "sum of idle_cycles over the instructions of the class"
    ),
    explained("hits", count, lambda row: row.hits, "sum of hits over the instructions of the class"),
    explained("instructions", count, lambda row: row.instructions, "instructions of the class in the code"),
    text("class", lambda row: row.kind),
)
_CAUSE_COLUMNS: Columns[StallCause] = (
    explained(
        "share", share, lambda row: row.share, "stall_cycles of the cause / stall_cycles of the kernel"
    ),
    explained(
        "stall cycles",
        count,
        lambda row: row.stall_cycles,
        "sum of stall_cycles over the instructions that waves stalled at for this cause",
    ),
    text("waves stalled at", lambda row: row.cause),
)
_SAMPLE_COLUMNS: Columns[SampleCount] = (
    explained("share", share, lambda row: row.share, "samples here / samples of the kernel"),
    explained("samples", count, lambda row: row.samples, "samples in which the program counter was here"),
    explained("issued", count, lambda row: row.issued, "samples in which the wave issued an instruction"),
    code("at", lambda row: row.name),
    code("source", lambda row: row.source or ""),
)


def instructions_section(document: Document, top: int) -> Section:
    """What the instructions of each traced kernel cost."""
    traced = document.thread_trace
    if traced.unavailable:
        return Section("Instructions (thread trace)", unavailable=traced.unavailable)
    waves = f"{format_count(traced.waves, 'wave')} of {format_count(traced.shader_engines, 'shader engine')} traced"
    mean = (
        "" if traced.mean_wave_cycles is None else f", {traced.mean_wave_cycles:,.0f} cycles each on average"
    )
    shown = traced.kernels[:_KERNELS]
    return Section(
        "Instructions (thread trace)",
        lines=(*((f"{waves}{mean}.",) if traced.waves else ()), *(_traced(kernel) for kernel in shown)),
        grids=tuple(grid for kernel in shown for grid in _trace_grids(kernel, top)),
        notes=tuple(_notes(shown, len(traced.kernels))),
    )


def _traced(kernel: KernelInstructions) -> str:
    return (
        f"{kernel.kernel or _UNKNOWN}: {kernel.total_cycles:,} cycles, issue efficiency "
        f"{share(kernel.issue_efficiency)}, stalled {share(kernel.stall_share)}; a wait for vector memory takes "
        f"{_cycles(kernel.vector_memory_wait)}, for LDS or scalar memory {_cycles(kernel.lds_scalar_wait)}."
    )


def _cycles(value: Quantity) -> str:
    return "an unknown time" if value.value is None else f"{value.value:,.0f} cycles"


def _trace_grids(kernel: KernelInstructions, top: int) -> tuple[Grid, ...]:
    name = kernel.kernel or _UNKNOWN
    return (
        *grids(f"{name}: why waves stalled", kernel.causes, _CAUSE_COLUMNS, top),
        *grids(f"{name}: hottest instructions", kernel.hottest, _INSTRUCTION_COLUMNS, top),
        *grids(f"{name}: source lines", kernel.lines, _LINE_COLUMNS, top),
        *grids(f"{name}: classes", kernel.classes, _CLASS_COLUMNS, top),
    )


def _notes(kernels: tuple[KernelInstructions, ...], traced: int) -> Iterator[str]:
    for kernel in kernels:
        name = kernel.kernel or _UNKNOWN
        if kernel.lines_unavailable:
            yield f"{name}: no source lines, {kernel.lines_unavailable}"
        if kernel.doubt:
            yield f"{name}: {kernel.doubt}"
    if traced > len(kernels):
        yield f"{format_count(traced - len(kernels), 'more traced kernel')} (--json has all)"


def pc_samples_section(document: Document, top: int) -> Section:
    """Where the program counter of each sampled kernel was, and why it waited."""
    sampled = document.pc_samples
    if sampled.unavailable:
        return Section("PC samples", unavailable=sampled.unavailable)
    shown = sampled.kernels[:_KERNELS]
    return Section(
        "PC samples",
        lines=tuple(_sampled(kernel) for kernel in shown),
        grids=tuple(grid for kernel in shown for grid in _sample_grids(kernel, top)),
        notes=tuple(_sample_notes(shown, len(sampled.kernels))),
    )


def _sampled(kernel: KernelSamples) -> str:
    return (
        f"{kernel.kernel or _UNKNOWN}: {format_count(kernel.samples, 'sample')} ({kernel.method}), issued "
        f"{share(kernel.issued)}, lanes active {share(kernel.lanes_active)}, "
        f"partial waves {share(kernel.partial_waves)}."
    )


def _sample_grids(kernel: KernelSamples, top: int) -> tuple[Grid, ...]:
    name = kernel.kernel or _UNKNOWN
    return (
        *grids(f"{name}: stall reasons", kernel.stall_reasons, _SAMPLE_COLUMNS, top),
        *grids(f"{name}: instructions", kernel.instructions, _SAMPLE_COLUMNS, top),
        *grids(f"{name}: source lines", kernel.lines, _SAMPLE_COLUMNS, top),
        *grids(f"{name}: classes", kernel.classes, _SAMPLE_COLUMNS, top),
    )


def _sample_notes(kernels: tuple[KernelSamples, ...], sampled: int) -> Iterator[str]:
    for kernel in kernels:
        name = kernel.kernel or _UNKNOWN
        for reason in (kernel.stall_reasons_unavailable, kernel.lines_unavailable):
            if reason:
                yield f"{name}: {reason}"
    if sampled > len(kernels):
        yield f"{format_count(sampled - len(kernels), 'more sampled kernel')} (--json has all)"
