"""What the recorded counters say of each kernel."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.metrics import KernelMetric
from rocm_perf.render.grid import cropped
from rocm_perf.render.sections.section import Columns, Grid, Section, grids, number, rate, text
from rocm_perf.units import format_count

_KERNELS = 5  # whose metrics are shown
_REASONS, _REASON_LENGTH = 3, 160

_COLUMNS: Columns[KernelMetric] = (
    number("value", lambda row: rate(row.value) + ("?" if row.doubt else "")),
    text("unit", lambda row: row.unit),
    number("min", lambda row: rate(row.least) if row.dispatches > 1 else ""),
    number("max", lambda row: rate(row.greatest) if row.dispatches > 1 else ""),
    text("metric", lambda row: row.title),
)


def metrics_section(document: Document, top: int) -> Section:
    """The metrics of the kernels that took longest."""
    metrics = document.metrics
    if metrics.unavailable or not metrics.rows:
        return Section(
            "Metrics", unavailable=metrics.unavailable or "no metric can be computed from the counters"
        )
    kernels = list(dict.fromkeys((row.short_name, row.kernel, row.gpu) for row in metrics.rows))
    doubts = dict.fromkeys(f"? {row.title}: {row.doubt}" for row in metrics.rows if row.doubt)
    return Section(
        "Metrics",
        lines=(
            f"{len(metrics.rows):,} values for {len(kernels):,} kernels; ranges are over their dispatches.",
        ),
        grids=tuple(grid for key in kernels[: min(_KERNELS, top)] for grid in _kernel(document, key, top)),
        notes=(*tuple(doubts)[:_REASONS], *_missing(metrics.missing)),
    )


def _kernel(document: Document, key: tuple[str, str, str], top: int) -> tuple[Grid, ...]:
    short_name, kernel, gpu = key
    rows = [row for row in document.metrics.rows if (row.kernel, row.gpu) == (kernel, gpu)]
    return grids(
        f"{short_name} ({format_count(rows[0].dispatches, 'dispatch', 'dispatches')})", rows, _COLUMNS, top
    )


def _missing(missing: dict[str, str]) -> tuple[str, ...]:
    """Reasons, the most frequent first, each with how many metrics it explains."""
    counted: dict[str, int] = {}
    for reason in missing.values():
        counted[reason] = counted.get(reason, 0) + 1
    frequent = sorted(counted.items(), key=lambda row: -row[1])[:_REASONS]
    return tuple(
        f"{format_count(metrics, 'metric')} without a value: {cropped(reason, _REASON_LENGTH)}"
        for reason, metrics in frequent
    )
