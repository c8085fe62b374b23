"""GPUs and what ran on them: kernels, families, steps and sequences worth fusing."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.kernels import FamilyTotal, Sliver, Steps
from rocm_perf.model.results.times import DeviceTime, Hotspot
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    grids,
    number,
    share,
    short_names,
    spark,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_GPU_COLUMNS: Columns[DeviceTime] = (
    number("busy", lambda row: share(row.busy)),
    number("window", lambda row: time(row.window_ns)),
    number("kernels", lambda row: time(row.kernel_ns)),
    number("copies", lambda row: time(row.copy_ns)),
    number("idle", lambda row: time(row.idle_ns)),
    text("GPU", lambda row: row.name),
)
_FAMILY_COLUMNS: Columns[FamilyTotal] = (
    number("share", lambda row: share(row.share)),
    number("total", lambda row: time(row.total_ns)),
    number("calls", lambda row: count(row.calls)),
    number("kernels", lambda row: count(row.kernels)),
    text("family", lambda row: row.family),
    text("libraries", lambda row: ", ".join(row.libraries)),
)


def kernel_counts(document: Document) -> str:
    """How many dispatches and kernels, their summed time, and where the numbers come from."""
    spots = document.hotspots
    dispatches = format_count(spots.dispatches, "dispatch", "dispatches")
    counts = f"{dispatches} of {format_count(spots.kernels, 'kernel')}, {format_ns(spots.total_ns)} summed"
    return counts if spots.basis == "dispatches" else f"{counts}; from {spots.basis}"


def gpus_section(document: Document, top: int) -> Section:
    """How each GPU spent its time."""
    if not document.devices:
        return Section("GPUs", unavailable="no kernels or copies with times were recorded")
    queues = document.queues if len(document.queues) > len(document.devices) else ()
    return Section(
        "GPUs",
        grids=(
            *grids("", document.devices, _GPU_COLUMNS, top),
            *grids("Queues and streams", queues, _GPU_COLUMNS, top),
        ),
    )


def kernels_section(document: Document, top: int) -> Section:
    """All kernels, longest first."""
    spots = document.hotspots
    if not spots.rows:
        return Section("Kernels", unavailable=spots.unavailable or "the recording holds no kernels")
    score = path_scores(document)
    label = bottleneck_labels(document)
    columns: Columns[Hotspot] = (
        number("share", lambda row: share(row.share)),
        number("total", lambda row: time(row.total_ns)),
        number("calls", lambda row: count(row.calls)),
        number("mean", lambda row: time(row.mean_ns)),
        number("median", lambda row: time(row.median_ns)),
        number("max", lambda row: time(row.max_ns)),
        number("path", lambda row: share(score.get(row.kernel))),
        text("bound by", lambda row: label.get(row.kernel, "")),
        code("kernel", lambda row: row.short_name),
    )
    return Section(
        "Kernels", lines=(f"{kernel_counts(document)}.",), grids=grids("", spots.rows, columns, top)
    )


def path_scores(document: Document) -> dict[str, float]:
    """Each kernel's share of the critical path."""
    return {row.kernel: row.critical_path_score for row in document.path.by_kernel}


def bottleneck_labels(document: Document) -> dict[str, str]:
    """What holds each kernel back, where that is known."""
    return {row.kernel: row.label for row in reversed(document.bottlenecks.kernels) if row.label}


def families_section(document: Document, top: int) -> Section:
    """Kernel time by family: what the kernels do."""
    families = document.families
    if families.unavailable:
        return Section("Kernel families", unavailable=families.unavailable)
    unknown = f"not classified by name: {share(families.unclassified_share)}"
    line = f"GEMM {share(families.gemm_share)} of the kernel time; {unknown}."
    return Section("Kernel families", lines=(line,), grids=grids("", families.rows, _FAMILY_COLUMNS, top))


def steps_section(document: Document, top: int) -> Section:
    """The steps that the program repeats, and the short kernels in them that could be fused."""
    steps, slivers = document.steps, document.slivers
    if steps.unavailable and slivers.unavailable:
        return Section("Steps", unavailable=steps.unavailable)
    name = short_names(document)
    columns: Columns[Sliver] = (
        number("saves at most", lambda row: time(row.saving_ns)),
        number("times", lambda row: count(row.occurrences)),
        number("kernels", lambda row: time(row.kernel_ns)),
        number("gaps", lambda row: time(row.gap_ns)),
        code("sequence", lambda row: " > ".join(name(kernel) for kernel in row.kernels)),
    )
    lines = [f"Steps: {steps.unavailable}."] if steps.unavailable else _step_lines(steps)
    if slivers.rows:
        lines.append(
            f"Fusing the sequences below saves at most {format_ns(slivers.saving_ns)} in launches; "
            "saved memory traffic comes on top."
        )
    return Section(
        "Steps",
        lines=tuple(lines),
        grids=grids("Short kernels that repeat", slivers.rows, columns, top),
        notes=tuple(note for note in (slivers.basis, slivers.unavailable) if note),
    )


def _step_lines(steps: Steps) -> list[str]:
    kernels = steps.kernels_per_step.value
    lines = [
        f"{format_count(len(steps.steps), 'step')}, found by: {steps.found_by}. Median {time(steps.duration_ns.value)}"
        + ("." if kernels is None else f" and {kernels:,g} kernels.")
    ]
    if len(steps.steps) > 1:
        lengths = [step.duration_ns for step in steps.steps]
        lines.append(f"{format_ns(min(lengths))} to {format_ns(max(lengths))}: {spark(lengths)}")
    return lines
