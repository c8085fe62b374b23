"""Kernel time by what the kernels do."""

from __future__ import annotations

from rocm_perf.model.results.kernels import Families, FamilyTotal
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.parts import LINE, Part, bar_rows
from rocm_perf.units import format_count, format_ns, format_share


def families_figure(families: Families, width: float = WIDE) -> Drawn:
    """One bar per family; a full bar is all kernel time."""
    if families.unavailable or not families.rows:
        return Missing(families.unavailable or "no kernels were recorded")
    rows = [_row(row) for row in families.rows]
    first = families.rows[0]
    return Figure(
        title=f"Kernel time by family: {first.family} has most of it, {format_share(first.share)}.",
        width=width,
        height=len(rows) * LINE + 4,
        body=tuple(bar_rows(rows, width=width, top=0, whole=1.0)),
    )


def _row(row: FamilyTotal) -> Part:
    kernels = f"{format_count(row.kernels, 'kernel')}, {format_count(row.calls, 'call')}"
    libraries = f"from {', '.join(row.libraries)}" if row.libraries else ""
    return Part(
        name=row.family,
        value=row.share,
        look="fill-8" if row.family == "other" else "fill-1",
        said=f"{format_share(row.share)} ({format_ns(row.total_ns)})",
        about="\n".join(filter(None, (kernels, libraries))),
    )
