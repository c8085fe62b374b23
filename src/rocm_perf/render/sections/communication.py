"""Communication between GPUs."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.communication import CollectiveTotal
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    count,
    explained,
    grids,
    rate,
    share,
    size,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_COLUMNS: Columns[CollectiveTotal] = (
    explained(
        "time",
        time,
        lambda row: row.total_ns,
        "sum of (end_ns - start_ns) over the collectives of this name and group",
    ),
    explained("calls", count, lambda row: row.calls, "collectives of this name and group"),
    explained("bytes", size, lambda row: row.size_bytes, "sum of the sizes of this rank's inputs"),
    explained("GB/s", rate, lambda row: row.bandwidth),
    text("collective", lambda row: row.name),
    text("group", lambda row: row.group or ""),
)


def communication_section(document: Document, top: int) -> Section:
    """How long collectives ran, and how much of that nothing else overlapped."""
    result = document.communication
    if result.unavailable and not result.rows:
        return Section("Communication", unavailable=result.unavailable)
    lines = (
        f"{format_count(result.kernels, 'communication kernel')} ran for {format_ns(result.busy_ns)}; for "
        f"{format_ns(result.exposed_ns)} of that ({share(result.exposed_share)} of the GPUs' time) nothing else ran.",
    )
    return Section(
        "Communication",
        lines=lines if result.kernels else (),
        grids=grids("", result.rows, _COLUMNS, top),
        notes=("GB/s: this rank's input over the duration, not what crosses the links",)
        if result.rows
        else (),
    )
