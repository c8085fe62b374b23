"""The program from outside: its named ranges, its memory, the energy it used."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rocm_perf.model.document import Document
from rocm_perf.model.results.energy import FamilyEnergy, GpuEnergy, KernelEnergy, StepEnergy
from rocm_perf.model.results.memory import MemoryUse
from rocm_perf.model.results.ranges import RangeTotal
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    grids,
    known,
    number,
    rate,
    short_names,
    size,
    spark,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_RANGE_COLUMNS: Columns[RangeTotal] = (
    number("host", lambda row: time(row.host_ns)),
    number("GPU", lambda row: time(row.gpu_ns)),
    number("gaps", lambda row: time(row.gap_ns)),
    number("kernels", lambda row: count(row.kernels)),
    number("calls", lambda row: count(row.calls)),
    number("mean", lambda row: time(row.mean_host_ns)),
    number("max", lambda row: time(row.max_host_ns)),
    code("range", lambda row: "  " * (len(row.path) - 1) + row.path[-1]),
)
_MEMORY_COLUMNS: Columns[MemoryUse] = (
    number("peak", lambda row: size(row.peak_bytes)),
    number("first", lambda row: size(row.first_bytes)),
    number("last", lambda row: size(row.last_bytes)),
    number("growth per step", lambda row: "-" if row.growth is None else _signed(row.growth.per_step.value)),
    number("allocations", lambda row: count(row.allocations) if row.source == "allocations" else "-"),
    text("GPU", lambda row: known(row.agent_id)),
    code("level", lambda row: row.level),
)
_GPU_COLUMNS: Columns[GpuEnergy] = (
    number("energy J", lambda row: rate(row.energy)),
    number("busy J", lambda row: rate(row.busy_j)),
    number("idle J", lambda row: rate(row.idle_j)),
    number("mean W", lambda row: rate(row.mean_power)),
    number("peak W", lambda row: rate(row.peak_power_w)),
    number("MHz", lambda row: rate(row.mean_clock)),
    number("readings", lambda row: count(row.readings)),
    text("GPU", lambda row: known(row.agent_id)),
)


def ranges_section(document: Document, top: int) -> Section:
    """Named ranges, as they nest."""
    ranges = document.ranges
    if ranges.unavailable:
        return Section("Ranges", unavailable=ranges.unavailable)
    kernels = f"{format_count(ranges.by_launch, 'kernel')} launched inside ranges"
    other = f", {ranges.by_time:,} assigned by time" if ranges.by_time else ""
    marks = f" {format_count(ranges.marks, 'mark')}." if ranges.marks else ""
    return Section(
        "Ranges",
        lines=(f"{kernels}{other}, {ranges.outside:,} outside.{marks}",),
        grids=grids("", ranges.rows, _RANGE_COLUMNS, top),
    )


def memory_section(document: Document, top: int) -> Section:
    """Memory in use over time."""
    memory = document.memory
    if memory.unavailable or not memory.rows:
        return Section("Memory", unavailable=memory.unavailable or "no memory in use was recorded")
    untimed = f"{format_count(memory.untimed, 'allocation')} without a time or size left out"
    return Section(
        "Memory",
        lines=tuple(_levels(memory.rows[:top])),
        grids=grids("", memory.rows, _MEMORY_COLUMNS, top),
        notes=(*((untimed,) if memory.untimed else ()), *_memory_notes(memory.rows)),
    )


def _levels(rows: tuple[MemoryUse, ...]) -> Iterator[str]:
    for row in rows:
        if row.peak_bytes > 0:
            suspicion = "; it rose with every step" if row.growth and row.growth.suspicious else ""
            yield f"{spark(row.series_bytes, 40)} {row.level}, peak {size(row.peak_bytes)}{suspicion}"


def _memory_notes(rows: tuple[MemoryUse, ...]) -> Iterator[str]:
    bases = dict.fromkeys(row.growth.basis for row in rows if row.growth)
    reasons = dict.fromkeys(row.growth_unavailable for row in rows if row.growth_unavailable)
    yield from (f"growth: {basis}" for basis in bases)
    yield from (f"growth unavailable: {reason}" for reason in reasons)


_FAMILY_ENERGY_COLUMNS: Columns[FamilyEnergy] = (
    number("energy J", lambda row: rate(row.energy_j)),
    number("time", lambda row: time(row.gpu_ns)),
    number("calls", lambda row: count(row.dispatches)),
    text("family", lambda row: row.family),
)


def energy_section(document: Document, top: int) -> Section:
    """Energy that GPUs, kernels and steps used."""
    energy = document.energy
    if energy.unavailable:
        return Section("Energy", unavailable=energy.unavailable)
    name = short_names(document)
    columns: Columns[KernelEnergy] = (
        number("energy J", lambda row: rate(row.energy_j)),
        number("mean W", lambda row: rate(row.mean_power_w)),
        number("time", lambda row: time(row.gpu_ns)),
        number("calls", lambda row: count(row.dispatches)),
        code("kernel", lambda row: name(row.kernel)),
    )
    left_out = f"{format_count(energy.left_out, 'dispatch', 'dispatches')} outside the readings"
    reason = f"energy by kernel unavailable: {energy.kernels_unavailable}"
    return Section(
        "Energy",
        lines=(*_windows(energy.gpus), *_step_energy(energy.steps)),
        grids=(
            *grids("GPUs", energy.gpus, _GPU_COLUMNS, top),
            *grids("Families", energy.families, _FAMILY_ENERGY_COLUMNS, top),
            *grids("Kernels", energy.kernels, columns, top),
        ),
        notes=(
            *energy.limits,
            *((left_out,) if energy.left_out else ()),
            *((reason,) if energy.kernels_unavailable else ()),
        ),
    )


def _windows(gpus: tuple[GpuEnergy, ...]) -> Iterator[str]:
    if gpus:
        longest = max(gpu.window_ns for gpu in gpus)
        yield f"Power was read over {format_ns(longest)}, every {format_ns(gpus[0].interval_ns)}."


def _step_energy(steps: tuple[StepEnergy, ...]) -> Iterator[str]:
    if steps:
        joules = [step.energy_j for step in steps]
        middle = f"median {rate(median(joules))} J, {rate(min(joules))} to {rate(max(joules))} J"
        yield f"{format_count(len(steps), 'step')}, {middle}: {spark(joules)}"


def _signed(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{'+' if value > 0 else ''}{size(value)}"
