"""GPUs and what ran on them: kernels, families, steps and sequences worth fusing."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.kernels import FamilyTotal, Sliver
from rocm_perf.model.results.times import DeviceTime, Hotspot
from rocm_perf.model.run import LENGTHS
from rocm_perf.render.kernel_names import told_apart
from rocm_perf.render.sections.limits import limits_by_kernel
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    explained,
    grids,
    share,
    short_names,
    spark,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

# What the columns of a table of kernels show.
LEGENDS = {
    "share": "of kernel time",
    "total": "all calls",
    "calls": "launches",
    "mean": "one call",
    "path": "of the critical path",
    "limited by": "first cause or fullest unit",
}
_FEWEST = 2  # kernels that a path can tell apart
_LEAST_PATH = 0.005  # of the critical path, of the kernel that has most of it
_GPU_COLUMNS: Columns[DeviceTime] = (
    explained("busy", share, lambda row: row.busy),
    explained("window", time, lambda row: row.window_ns, "devices.window_ns"),
    explained("kernels", time, lambda row: row.kernel_ns, "devices.kernel_ns"),
    explained("copies", time, lambda row: row.copy_ns, "devices.copy_ns"),
    explained("idle", time, lambda row: row.idle_ns, "devices.idle_ns"),
    text("GPU", lambda row: row.name),
)
_FAMILY_COLUMNS: Columns[FamilyTotal] = (
    explained("share", share, lambda row: row.share, "families.share"),
    explained(
        "total",
        time,
        lambda row: row.total_ns,
        "sum of (end_ns - start_ns) over the dispatches of the family",
    ),
    explained("calls", count, lambda row: row.calls, "dispatches of the family"),
    explained("kernels", count, lambda row: row.kernels, "kernels of different names in the family"),
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
    if document.run.clock == LENGTHS:
        return Section("GPUs", unavailable=document.gaps.unavailable)
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
    limits = limits_by_kernel(document)
    names = told_apart(spots.rows[:top])
    columns: Columns[Hotspot] = (
        explained("share", share, lambda row: row.share, "hotspots.share", legend=LEGENDS["share"]),
        explained("total", time, lambda row: row.total_ns, "hotspots.total_ns", legend=LEGENDS["total"]),
        explained("calls", count, lambda row: row.calls, "dispatches of the kernel", legend=LEGENDS["calls"]),
        explained("mean", time, lambda row: row.mean_ns, "total_ns / calls", legend=LEGENDS["mean"]),
        explained(
            "median",
            time,
            lambda row: row.median_ns,
            "median of (end_ns - start_ns) over the dispatches of the kernel",
            legend="of the calls",
        ),
        explained(
            "max", time, lambda row: row.max_ns, "longest dispatch of the kernel", legend="longest call"
        ),
        explained(
            "path",
            share,
            lambda row: score.get(row.kernel),
            "critical_path_score",
            legend=LEGENDS["path"],
        ),
        text("limited by", lambda row: limits.get(row.kernel, ""), legend=LEGENDS["limited by"]),
        code("kernel", lambda row: names[row.kernel], lambda row: row.kernel),
    )
    return Section(
        "Kernels", lines=(f"{kernel_counts(document)}.",), grids=grids("", spots.rows, columns, top)
    )


def path_scores(document: Document) -> dict[str, float]:
    """Each kernel's share of the critical path; none where it says nothing: one kernel, kernels that the profiler ran
    one by one, or a path that no kernel is a part of."""
    scores = {row.kernel: row.critical_path_score for row in document.path.by_kernel}
    listed = [scores.get(spot.kernel, 0.0) for spot in document.hotspots.rows]
    if len(listed) < _FEWEST or document.gaps.doubt or document.ledger.idle_unknown:
        return {}
    return scores if max(listed, default=0.0) >= _LEAST_PATH else {}


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
        explained("saves at most", time, lambda row: row.saving_ns, "slivers.saving_ns"),
        explained(
            "times", count, lambda row: row.occurrences, "times that the sequence was found on its stream"
        ),
        explained(
            "kernels",
            time,
            lambda row: row.kernel_ns,
            "sum of the durations of its kernels, over all occurrences",
        ),
        explained(
            "gaps", time, lambda row: row.gap_ns, "sum of the time between its kernels, over all occurrences"
        ),
        code("sequence", lambda row: " > ".join(name(kernel) for kernel in row.kernels)),
    )
    lines = [f"Steps: {steps.unavailable}."] if steps.unavailable else _step_lines(document)
    if slivers.rows:
        lines.append(
            f"Fusing the sequences below saves at most {format_ns(slivers.saving_ns)} in launches; "
            "saved memory traffic comes on top."
        )
    return Section(
        "Steps",
        lines=tuple(lines),
        grids=grids("Short kernels that repeat", slivers.rows, columns, top),
        notes=tuple(note for note in (slivers.basis if slivers.rows else "", slivers.unavailable) if note),
    )


def _step_lines(document: Document) -> list[str]:
    """How many steps there are and how long one is, as the phases tell it where there is a steady state; how they
    differ, unless they run side by side."""
    steps, phases = document.steps, document.phases
    told = phases.steps > 0 and phases.step_ns.value is not None
    count = phases.steps if told else len(steps.steps)
    length = time(phases.step_ns.value if told else steps.duration_ns.value)
    kernels = steps.kernels_per_step.value
    is_mean = told and phases.step_ns.formula != steps.duration_ns.formula
    lines = [
        f"{format_count(count, 'step')}, found by: {steps.found_by}. {'On average' if is_mean else 'Median'} {length}"
        + ("." if kernels is None else f" and {format_count(kernels, 'kernel')}.")
    ]
    if len(steps.steps) > 1 and not is_mean:
        lengths = [step.duration_ns for step in steps.steps]
        lines.append(f"{format_ns(min(lengths))} to {format_ns(max(lengths))}: {spark(lengths)}")
    return lines
