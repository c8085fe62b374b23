"""How kernels use the GPU: matrix units and occupancy."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.document import Document
from rocm_perf.model.results.gpu_use import GpuUse, KernelUse
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    code,
    count,
    doubts,
    explained,
    grids,
    share,
    text,
    time,
)

_MATRIX = {True: "yes", False: "no", None: "?"}
_COLUMNS: Columns[KernelUse] = (
    explained("time", time, lambda row: row.total_ns, "sum of the durations of the kernel"),
    explained("share", share, lambda row: row.share, "time / time of all kernels"),
    explained("calls", count, lambda row: row.calls, "dispatches of the kernel"),
    text("matrix units", lambda row: _MATRIX[row.matrix_units]),
    explained("occupancy", share, lambda row: row.occupancy),
    code("kernel", lambda row: row.short_name, whole=lambda row: row.kernel),
)


def gpu_use_section(document: Document, top: int) -> Section:
    """Kernels with their use of matrix units and their occupancy."""
    use = document.gpu_use
    return Section(
        "Use of the GPU",
        lines=tuple(_lines(use)),
        grids=grids("", use.kernels, _COLUMNS, top),
        notes=doubts((use.matrix_share, *(row.occupancy for row in use.kernels[:top]))),
        unavailable=use.unavailable,
    )


def _lines(use: GpuUse) -> Iterator[str]:
    if use.matrix_share.known:
        yield f"{share(use.matrix_share)} of the kernel time is in kernels that use matrix units (tensor cores, MFMA)."
    elif use.kernels:
        yield f"Share on matrix units: unknown, {use.matrix_share.unavailable}."
    if use.occupancy.known:
        yield f"Achieved occupancy: {share(use.occupancy)} on average over the kernel time."
    elif use.kernels:
        yield f"Achieved occupancy: unknown, {use.occupancy.unavailable}."
