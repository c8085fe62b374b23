"""What the host spends on launching kernels and moving data."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.copies import SteadyCopy
from rocm_perf.model.results.launches import ApiFunction, KernelLaunch, Launches
from rocm_perf.model.results.times import CopyTotal, DomainTotal
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    explained,
    grids,
    rate,
    share,
    short_names,
    size,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_FUNCTION_COLUMNS: Columns[ApiFunction] = (
    explained("of wall", share, lambda row: row.share),
    explained("total", time, lambda row: row.total_ns, "sum of (end_ns - start_ns) over the calls"),
    explained("calls", count, lambda row: row.calls, "calls of the function"),
    explained("mean", time, lambda row: row.mean_ns, "total_ns / calls"),
    text("domain", lambda row: row.domain),
    code("function", lambda row: row.name),
)
_DOMAIN_COLUMNS: Columns[DomainTotal] = (
    explained("time", time, lambda row: row.union_ns, "domains.union_ns"),
    explained("calls", count, lambda row: row.calls, "calls of the domain"),
    text("domain", lambda row: row.domain),
    code("busiest function", lambda row: f"{row.busiest}  {format_ns(row.busiest_ns)}"),
)
_COPY_COLUMNS: Columns[CopyTotal] = (
    explained("time", time, lambda row: row.total_ns, "sum of (end_ns - start_ns) over the copies"),
    explained("copies", count, lambda row: row.copies, "copies of this direction"),
    explained("bytes", size, lambda row: row.size_bytes, "sum of the sizes of the copies"),
    explained("GB/s", rate, lambda row: row.bandwidth),
    text("kind", lambda row: row.kind),
)
_STEADY_COLUMNS: Columns[SteadyCopy] = (
    explained("time", time, lambda row: row.total_ns, "sum of (end_ns - start_ns) over the copies"),
    explained(
        "copies", count, lambda row: row.copies, "copies in the steady state, of this kind and from this call"
    ),
    explained("per step", rate, lambda row: row.per_step, "copies / steps of the steady state"),
    explained("bytes", size, lambda row: row.size_bytes, "sum of the sizes of the copies"),
    explained("GB/s", rate, lambda row: row.bandwidth),
    text("kind", lambda row: row.kind),
    text("memory", lambda row: row.memory),
    code("call", lambda row: row.call),
    code("from", lambda row: row.call_site),
)


def launches_section(document: Document, top: int) -> Section:
    """What launching costs, by kernel and by function."""
    launches = document.launches
    if launches.unavailable:
        return Section("Launches", unavailable=launches.unavailable)
    name = short_names(document)
    columns: Columns[KernelLaunch] = (
        explained(
            "in calls",
            time,
            lambda row: row.call_total_ns,
            "sum of (end_ns - start_ns) over the calls that launched the kernel, each once",
        ),
        explained(
            "calls",
            count,
            lambda row: row.calls,
            "calls that launched the kernel; a graph launch starts many",
        ),
        explained(
            "call p50", time, lambda row: row.call_median_ns, "median of (end_ns - start_ns) over these calls"
        ),
        explained(
            "p95",
            time,
            lambda row: row.call_p95_ns,
            "95th percentile of (end_ns - start_ns) over these calls",
        ),
        explained(
            "delay p50",
            time,
            lambda row: row.delay_median_ns,
            "median over the dispatches of (start_ns of the kernel - end_ns of its call)",
        ),
        explained(
            "p95 ",
            time,
            lambda row: row.delay_p95_ns,
            "95th percentile of (start_ns of the kernel - end_ns of its call) over the dispatches",
        ),
        code("kernel", lambda row: name(row.kernel), lambda row: row.kernel),
    )
    return Section(
        "Launches",
        lines=tuple(_launch_lines(launches)),
        grids=(
            *grids("Kernels", launches.kernels, columns, top),
            *grids("Functions", launches.functions, _FUNCTION_COLUMNS, top),
        ),
        notes=("delay: from the return of the launching call to the start of the kernel",)
        if launches.kernels
        else (),
    )


def _launch_lines(launches: Launches) -> list[str]:
    lines = []
    if launches.latency_ns is not None:
        lines.append(
            f"On an idle GPU, a kernel starts {format_ns(launches.latency_ns)} after its launching call."
        )
    if launches.graphs:
        graphs = launches.graphs
        lines.append(
            f"{format_count(graphs.calls, 'graph launch', 'graph launches')} started {graphs.dispatches:,} kernels "
            f"and took {format_ns(graphs.call_total_ns)}."
        )
    if launches.not_paired:
        lines.append(
            f"The launching call of {format_count(launches.not_paired, 'dispatch', 'dispatches')} was not recorded."
        )
    return lines


def host_section(document: Document, top: int) -> Section:
    """Time in host calls, by domain."""
    if not document.domains:
        return Section("Host", unavailable="no host calls were recorded")
    return Section("Host", grids=grids("", document.domains, _DOMAIN_COLUMNS, top))


def copies_section(document: Document, top: int) -> Section:
    """Copies by direction, and those that recur in steady state."""
    if not document.copies:
        return Section("Copies", unavailable="no copies were recorded")
    steady = document.steady_copies
    reason = (
        f"Whether copies recur in every step is unknown: {steady.unavailable}." if steady.unavailable else ""
    )
    recurring = (
        f"{format_count(steady.copies, 'copy', 'copies')} between host and GPU in steady state took "
        f"{format_ns(steady.total_ns)} ({steady.basis})."
        if steady.rows
        else ""
    )
    return Section(
        "Copies",
        lines=tuple(line for line in (recurring, reason) if line),
        grids=(
            *grids("By direction", document.copies, _COPY_COLUMNS),
            *grids("In steady state", steady.rows, _STEADY_COLUMNS, top),
        ),
    )
