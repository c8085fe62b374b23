"""What a kernel was counted to do, as sections: work, memory, LDS, source lines, findings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from rocm_perf.model.results.count import (
    Accesses,
    Bound,
    ClassCount,
    Counting,
    EmulatedRoofline,
    LineUse,
    Operations,
    Totals,
)
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    finding_item,
    grids,
    number,
    rate,
    share,
    size,
    text,
    time,
)
from rocm_perf.units import format_bytes, format_count, format_share

_HEADLINES: dict[Bound | None, str] = {
    "memory": "Memory-bound on this GPU",
    "compute": "Compute-bound on this GPU",
    "either": "Memory- or compute-bound, as the caches decide",
    None: "Counted, without a roof",
}


def headline(counting: Counting) -> str:
    """The answer in one line."""
    sampled = " (estimated from a sample)" if counting.executed.is_sample else ""
    return f"{_HEADLINES[counting.roofline.bound]}{sampled}: {counting.roofline.reason}"


def basis_facts(counting: Counting) -> Iterator[tuple[str, str]]:
    """What was executed, and on what."""
    executed = counting.executed
    yield "Kernel", counting.name or counting.kernel
    yield "Code", f"{counting.code}, {counting.gfx}"
    groups = f"{executed.workgroups:,} of {format_count(executed.of_workgroups, 'workgroup')}"
    all_groups = f"all {format_count(executed.of_workgroups, 'workgroup')}"
    waves = f"{format_count(executed.waves, 'wave')} of {executed.wave_size} lanes"
    yield (
        "Emulated",
        f"{groups if executed.is_sample else all_groups}, {waves}, in {executed.seconds:.2f} s here",
    )
    gpu = counting.roofline.gpu
    yield "GPU", f"{gpu.name}{f' (by {gpu.told_by})' if gpu.told_by else ''}"
    yield "Resources", _resources_text(counting)


def _resources_text(counting: Counting) -> str:
    needs = counting.resources
    parts = [
        f"{value:,} {name}"
        for name, value in (("VGPRs", needs.vgprs), ("AGPRs", needs.agprs), ("SGPRs", needs.sgprs))
        if value
    ]
    if needs.lds_bytes:
        parts.append(f"{format_bytes(needs.lds_bytes)} LDS")
    if needs.scratch_bytes:
        parts.append(f"{format_bytes(needs.scratch_bytes)} scratch per work-item")
    if needs.waves_per_simd is not None:
        limit = " and ".join(needs.limited_by)
        parts.append(f"{needs.waves_per_simd:g} of {needs.max_waves_per_simd} waves per SIMD ({limit})")
    return ", ".join(parts)


def count_sections(counting: Counting, *, by_line: bool, top: int) -> tuple[Section, ...]:
    """Everything, in the order in which it is read."""
    totals = counting.totals
    parts = (
        _roofline(counting),
        _findings(counting),
        _work(totals),
        _memory(totals),
        _lds(totals),
        *((_lines(counting, top),) if by_line else ()),
        Section("What this cannot say", lines=counting.limits),
    )
    return tuple(part for part in parts if part.lines or part.items or part.grids or part.unavailable)


def _roofline(counting: Counting) -> Section:
    roof = counting.roofline
    if roof.gpu.unavailable:
        why = f"{roof.gpu.unavailable}; --gpu NAME says which GPU it is (rocm-perf gpus lists them)"
        return Section("Roofline (emulated)", lines=_intensity_lines(counting), notes=(f"no roofs: {why}",))
    point = roof.point
    lines = (*_intensity_lines(counting), *_least_times(roof), _place_text(point))
    peaks = [one for one in roof.gpu.ceilings if one.name in {part.ceiling for part in point.work}]
    sources = dict.fromkeys(f"{one.name} {rate(one.rate)} {one.rate.unit} ({one.origin})" for one in peaks)
    return Section("Roofline (emulated)", lines=lines, notes=tuple(sources))


def _least_times(roof: EmulatedRoofline) -> Iterator[str]:
    for label, least in (
        ("operations", roof.compute_ns),
        ("distinct lines", roof.memory_ns),
        ("requested lines, none cached", roof.uncached_ns),
    ):
        if least.value == 0:
            continue
        why = f" ({least.unavailable})" if least.unavailable else ""
        yield f"least time of the {label}: {time(least)}{why}"


def _place_text(point: KernelRoofline) -> str:
    if not point.time_ns.known:
        return f"share of the roof: unavailable ({point.time_ns.unavailable})"
    computed = f"{rate(point.tflops)} TFLOP/s, " if point.tflops.value else ""
    return f"it takes {time(point.time_ns)}: {computed}{rate(point.tbytes)} TB/s or more; {point.reason}"


def _intensity_lines(counting: Counting) -> tuple[str, ...]:
    roof = counting.roofline
    if not counting.totals.flops:
        return ("it computes no floating-point numbers: memory is its only roof",)
    ridge = f"; the ridge is at {rate(roof.ridge)}" if roof.ridge.known else ""
    least, most = roof.intensity_least, roof.intensity_most
    if not least.known or not most.known:
        return (f"intensity: unavailable ({most.unavailable or least.unavailable})",)
    return (f"from {rate(least)} (no cache) to {rate(most)} FLOP/B (every line once){ridge}",)


def _findings(counting: Counting) -> Section:
    items = tuple(finding_item(finding) for finding in counting.findings)
    verdict = counting.bottleneck
    label = verdict.label or verdict.suspect
    points = f"by the rules of `analyze`, likely held back by: {label}" if label else ""
    lines = tuple(filter(None, (points or ("" if items else "no defect stands out"),)))
    return Section("What the counts point to", lines=lines, items=items)


def _work(totals: Totals) -> Section:
    active = (
        f"{format_share(totals.active_lanes)} of the lanes active" if totals.active_lanes is not None else ""
    )
    parts = (
        format_count(totals.instructions, "instruction") + " by waves",
        active,
        format_count(totals.barriers, "barrier") if totals.barriers else "",
        f"{format_count(totals.atomics, 'atomic')} by lanes" if totals.atomics else "",
    )
    operations: Columns[Operations] = (
        text("operations", lambda row: row.ceiling),
        number("amount", lambda row: count(row.amount)),
    )
    classes: Columns[ClassCount] = (
        text("class", lambda row: row.name),
        number("instructions", lambda row: count(row.executions)),
        number("share", lambda row: share(row.share)),
    )
    return Section(
        "Work",
        lines=(", ".join(part for part in parts if part),),
        grids=(*grids("", totals.operations, operations), *grids("", totals.classes, classes)),
    )


def _memory(totals: Totals) -> Section:
    columns: Columns[Accesses] = (
        text("access", lambda row: f"{row.space} {row.what}"),
        number("by waves", lambda row: count(row.executions)),
        number("requested", lambda row: size(row.bytes)),
        number("lines", lambda row: count(row.lines)),
        number("of lines used", lambda row: share(row.efficiency) if row.space == "global" else "-"),
        number("same address", lambda row: count(row.same_address) if row.what == "atomic" else "-"),
    )
    footprint = totals.footprint
    lines: tuple[str, ...] = ()
    if footprint is not None:
        read, written, touched = (
            format_bytes(distinct * footprint.line_bytes)
            for distinct in (footprint.read, footprint.written, footprint.touched)
        )
        most = ", at most" if footprint.is_scaled else ""
        amounts = f"{read} read, {written} written, {touched} different ones"
        lines = (f"distinct lines of {footprint.line_bytes} B{most}: {amounts}",)
    notes = (f"lines of {totals.accesses[0].line_bytes} B",) if totals.accesses else ()
    return Section("Memory", lines=lines, grids=grids("", totals.accesses, columns), notes=notes)


def _lds(totals: Totals) -> Section:
    lds = totals.lds
    if lds is None:
        return Section("LDS")
    conflicts = f"{lds.conflict_cycles:,} of them conflicts ({share(lds.conflict_share)})"
    accesses = f"{format_count(lds.executions, 'access', 'accesses')} by waves, {format_bytes(lds.bytes)}"
    return Section("LDS", lines=(f"{accesses}; {lds.cycles:,} cycles of {lds.banks} banks, {conflicts}",))


def _lines(counting: Counting, top: int) -> Section:
    if counting.lines_unavailable:
        return Section("By source line", unavailable=counting.lines_unavailable)
    files = sorted({row.file for row in counting.lines})
    shared = len(os.path.commonpath(map(os.path.dirname, files))) if files[0].startswith("/") else 0
    columns: Columns[LineUse] = (
        code(
            "line",
            lambda row: f"{row.file[shared:].lstrip('/')}:{row.line}",
            lambda row: f"{row.file}:{row.line}",
        ),
        number("share", lambda row: share(row.share)),
        number("FLOPs", lambda row: count(row.flops) if row.flops else "-"),
        number("requested", lambda row: size(row.bytes) if row.bytes else "-"),
        number("used", lambda row: share(row.efficiency)),
        number("active", lambda row: share(row.active)),
        number("conflicts", lambda row: count(row.lds_conflict_cycles) if row.lds_conflict_cycles else "-"),
    )
    rows: Sequence[LineUse] = counting.lines
    return Section("By source line", grids=grids("", rows, columns, top))
