"""The program from outside: its named ranges, the energy it used."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rocm_perf.model.document import Document
from rocm_perf.model.results.energy import FamilyEnergy, GpuEnergy, KernelEnergy, StepEnergy
from rocm_perf.model.results.ranges import RangeTotal
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    explained,
    grids,
    known,
    rate,
    short_names,
    spark,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_RANGE_COLUMNS: Columns[RangeTotal] = (
    explained("host", time, lambda row: row.host_ns, "sum over the range's calls of end_ns - start_ns"),
    explained("GPU", time, lambda row: row.gpu_ns, "ranges.gpu_ns"),
    explained("gaps", time, lambda row: row.gap_ns, "ranges.gap_ns"),
    explained("kernels", count, lambda row: row.kernels, "kernels launched inside the range"),
    explained("calls", count, lambda row: row.calls, "times that the range was open"),
    explained("mean", time, lambda row: row.mean_host_ns, "host_ns / calls"),
    explained("max", time, lambda row: row.max_host_ns, "longest call of the range"),
    code("range", lambda row: "  " * (len(row.path) - 1) + row.path[-1]),
)
_GPU_COLUMNS: Columns[GpuEnergy] = (
    explained("energy J", rate, lambda row: row.energy),
    explained("busy J", rate, lambda row: row.busy_j, "energy.gpus.busy_j"),
    explained("idle J", rate, lambda row: row.idle_j, "energy - busy_j"),
    explained("mean W", rate, lambda row: row.mean_power),
    explained("peak W", rate, lambda row: row.peak_power_w, "largest reading of the power"),
    explained("MHz", rate, lambda row: row.mean_clock),
    explained("readings", count, lambda row: row.readings, "readings of the power"),
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


_FAMILY_ENERGY_COLUMNS: Columns[FamilyEnergy] = (
    explained("energy J", rate, lambda row: row.energy_j, "sum of energy_j over the kernels of the family"),
    explained("time", time, lambda row: row.gpu_ns, "sum of the durations of the kernels of the family"),
    explained("calls", count, lambda row: row.dispatches, "dispatches of the family"),
    text("family", lambda row: row.family),
)


def energy_section(document: Document, top: int) -> Section:
    """Energy that GPUs, kernels and steps used."""
    energy = document.energy
    if energy.unavailable:
        return Section("Energy", unavailable=energy.unavailable)
    name = short_names(document)
    columns: Columns[KernelEnergy] = (
        explained("energy J", rate, lambda row: row.energy_j, "energy.kernels.energy_j"),
        explained("mean W", rate, lambda row: row.mean_power_w, "energy_j / gpu_ns"),
        explained(
            "time",
            time,
            lambda row: row.gpu_ns,
            "sum of the durations of the dispatches that the readings cover",
        ),
        explained("calls", count, lambda row: row.dispatches, "dispatches that the readings cover"),
        code("kernel", lambda row: name(row.kernel), lambda row: row.kernel),
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
