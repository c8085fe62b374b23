"""What the recorded counters say of each kernel."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.arch.metric_data import metrics
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.metrics import Indicator, KernelMetric
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


_INDICATOR_COLUMNS: Columns[Indicator] = (
    text("indicator", lambda row: row.name),
    explained("value", rate, lambda row: Quantity(row.value, "", formula=row.counters, doubt=row.doubt)),
    text("target", lambda row: row.target),
    text("verdict", lambda row: row.verdict),
)
GOOD_PROFILE = (
    "A good profile of a matrix kernel: a wave or more for each SIMD (SQ_WAVES), vector and matrix instructions in the "
    "majority (SQ_INSTS_VALU), some LDS instructions that hardly wait (SQ_INSTS_LDS, SQ_WAIT_INST_LDS), few memory "
    "instructions (SQ_INSTS_VMEM), most L2 requests hit (TCC_HIT, TCC_MISS), and matrix operations counted "
    "(SQ_VALU_MFMA_MOPS)."
)


def _meanings(rows: Sequence[Indicator]) -> tuple[str, ...]:
    """What each missed target means, once for all kernels."""
    missed = (row for row in rows if row.verdict != "good")
    return tuple(dict.fromkeys(f"{row.name} {row.verdict}: {row.advice}" for row in missed))


def indicators_section(document: Document, top: int) -> Section:
    """The indicators of the kernels that took longest, beside their targets."""
    rows = document.metrics.indicators
    if not rows:
        none = "none of the recorded counters is one of them; rocm-perf counters -- APP records all"
        return Section("Indicators", unavailable=document.metrics.unavailable or none)
    kernels = list(dict.fromkeys((row.short_name, row.kernel, row.gpu) for row in rows))
    poor = sum(row.verdict == "poor" for row in rows)
    return Section(
        "Indicators",
        lines=(
            f"{poor:,} of {len(rows):,} indicators of {format_count(len(kernels), 'kernel')} miss their target.",
        ),
        grids=tuple(
            grid
            for short_name, kernel, gpu in kernels[: min(_KERNELS, top)]
            for grid in grids(
                short_name,
                [row for row in rows if (row.kernel, row.gpu) == (kernel, gpu)],
                _INDICATOR_COLUMNS,
            )
        ),
        notes=(*_meanings(rows), GOOD_PROFILE),
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
