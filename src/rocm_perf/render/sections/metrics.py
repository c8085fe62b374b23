"""What the recorded counters say of each kernel."""

from __future__ import annotations

from rocm_perf.arch.metric_data import metrics
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.metrics import KernelMetric
from rocm_perf.render.grid import cropped
from rocm_perf.render.sections.section import Columns, Grid, Section, explained, grids, rate, text
from rocm_perf.units import format_count

_KERNELS = 5  # whose metrics are shown
_REASONS, _REASON_LENGTH = 3, 160


def _quantity(row: KernelMetric) -> Quantity:
    """The value with the formulas that the catalogue has for it: the first whose counters were recorded is used."""
    expressions = dict.fromkeys(formula.expression for formula in metrics()[row.metric].formulas)
    return Quantity(row.value, row.unit, formula=" or ".join(expressions), doubt=row.doubt)


def _bound(value: float | None) -> str:
    return "" if value is None else rate(value)


_COLUMNS: Columns[KernelMetric] = (
    explained("value", rate, _quantity),
    text("unit", lambda row: row.unit),
    explained(
        "min", _bound, lambda row: row.least if row.dispatches > 1 else None, "least over the dispatches"
    ),
    explained(
        "max",
        _bound,
        lambda row: row.greatest if row.dispatches > 1 else None,
        "greatest over the dispatches",
    ),
    text("metric", lambda row: row.title),
)


def metrics_section(document: Document, top: int) -> Section:
    """The metrics of the kernels that took longest."""
    measured = document.metrics
    if measured.unavailable or not measured.rows:
        return Section(
            "Metrics", unavailable=measured.unavailable or "no metric can be computed from the counters"
        )
    kernels = list(dict.fromkeys((row.short_name, row.kernel, row.gpu) for row in measured.rows))
    doubts = dict.fromkeys(f"? {row.title}: {row.doubt}" for row in measured.rows if row.doubt)
    return Section(
        "Metrics",
        lines=(
            f"{len(measured.rows):,} values for {len(kernels):,} kernels; ranges are over their dispatches.",
        ),
        grids=tuple(grid for key in kernels[: min(_KERNELS, top)] for grid in _kernel(document, key, top)),
        notes=(*tuple(doubts)[:_REASONS], *_missing(measured.missing)),
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
