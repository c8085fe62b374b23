"""Metrics of dispatches and kernels, from recorded counters: each value with its formula, each absence with its reason.

Inputs that have to come from one pass do; dispatches of different passes are matched, or not used. A kernel's value is
the formula applied to the sums over its dispatches; its range spans the values of its dispatches.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

import msgspec
import polars as pl

from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metric_data import Formula, Metric, metrics, metrics_of
from rocm_perf.arch.metric_evaluation import MEAN, VALUE, WEIGHT, ZERO_DIVISOR, Evaluation, evaluated
from rocm_perf.arch.metric_inputs import passes
from rocm_perf.arch.metric_recipes import recipes
from rocm_perf.errors import UsageError
from rocm_perf.model.quantity import Quantity, unavailable

__all__ = ["Formula", "Metric", "MetricTable", "by_kernel", "evaluate", "metrics_of", "quantity"]

_ROW = {
    "node": pl.Int32,
    "rank": pl.Int32,
    "pid": pl.Int64,
    "pass_id": pl.Int32,
    "dispatch_id": pl.Int64,
    "agent_id": pl.Int64,
    "kernel": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
    "doubt": pl.String,
}
_KERNEL_ROW = {
    "kernel": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "least": pl.Float64,
    "greatest": pl.Float64,
    "dispatches": pl.Int64,
    "unit": pl.String,
    "doubt": pl.String,
}
_KNOWN = pl.col(VALUE).is_not_null()
_AVERAGE = pl.when(_KNOWN.any()).then(
    (pl.col(VALUE) * pl.col(WEIGHT)).sum() / pl.col(WEIGHT).filter(_KNOWN).sum()
)


class MetricTable(msgspec.Struct, frozen=True):
    """The metrics of a recording: one row per dispatch and metric, and the reason for each metric without rows."""

    gfx: str
    rows: pl.DataFrame
    unavailable: Mapping[str, str]
    evaluations: Mapping[str, Evaluation]


def evaluate(
    counters: pl.DataFrame,
    dispatches: pl.DataFrame,
    gpu: Gpu,
    names: Iterable[str] | None = None,
    doubts: Mapping[str, tuple[str, ...]] | None = None,
) -> MetricTable:
    """The named metrics, or all of them, for every dispatch. Both tables are those of a Trace; every dispatch in them
    ran on this model of GPU. `doubts` are more of a metric than its formula has."""
    recorded = passes(counters, dispatches)
    evaluations: dict[str, Evaluation] = {}
    reasons: dict[str, str] = {}
    for name in metrics_of(gpu.gfx) if names is None else map(_known, names):
        result = evaluated(name, recorded, gpu)
        if isinstance(result, Evaluation):
            evaluations[name] = result.doubted((doubts or {}).get(name, ()))
        else:
            reasons[name] = result
    rows = [_rows(name, evaluation) for name, evaluation in evaluations.items()]
    return MetricTable(
        gfx=gpu.gfx,
        rows=pl.concat([pl.DataFrame(schema=_ROW), *rows]),
        unavailable=reasons,
        evaluations=evaluations,
    )


def by_kernel(table: MetricTable) -> pl.DataFrame:
    """One row per kernel and metric: its value, and the least and the greatest of its dispatches."""
    frames = [_kernel_rows(name, evaluation) for name, evaluation in table.evaluations.items()]
    return pl.concat([pl.DataFrame(schema=_KERNEL_ROW), *frames])


def quantity(table: MetricTable, name: str, kernel: str | None = None) -> Quantity:
    """The value of one metric for one kernel, or for all dispatches together."""
    evaluation = table.evaluations.get(_known(name))
    if evaluation is None:
        best = next(iter(recipes(table.gfx, name)), None)
        reason = table.unavailable.get(name, "it was not asked for")
        return unavailable(metrics()[name].unit, str(best.expression) if best else name, reason)
    frame = evaluation.frame if kernel is None else evaluation.frame.filter(pl.col("kernel") == kernel)
    unit, formula = evaluation.metric.unit, str(evaluation.expression)
    if frame.is_empty():
        return unavailable(unit, formula, f"no dispatch of {kernel} has all its inputs")
    inputs = frame.select(pl.col(evaluation.inputs).sum()).row(0, named=True)
    if evaluation.recipe.averaged:
        value = frame.select(_AVERAGE).item()
        inputs = {f"mean {name}": total / frame.height for name, total in inputs.items()}
    else:
        value = evaluation.of_sums(inputs)
    if value is None or isinstance(value, str):
        return unavailable(unit, formula, value or ZERO_DIVISOR)
    doubt = evaluation.doubt(value, frame.height)
    return Quantity(
        value=value, unit=unit, formula=formula, inputs={**evaluation.constants, **inputs}, doubt=doubt
    )


def _rows(name: str, evaluation: Evaluation) -> pl.DataFrame:
    return (
        evaluation.frame.filter(pl.col(VALUE).is_not_null())
        .with_columns(
            pl.lit(name).alias("metric"),
            pl.lit(evaluation.metric.unit).alias("unit"),
            _doubt(evaluation, pl.lit(1)).alias("doubt"),
        )
        .select(pl.col(column).cast(dtype) for column, dtype in _ROW.items())
    )


def _kernel_rows(name: str, evaluation: Evaluation) -> pl.DataFrame:
    columns = {key: pl.lit(value, pl.Float64) for key, value in evaluation.constants.items()}
    columns |= {key: pl.col(key) for key in evaluation.inputs}
    value = pl.col("average") if evaluation.recipe.averaged else evaluation.expression.column(columns)
    return (
        evaluation.frame.group_by("kernel", maintain_order=True)
        .agg(
            pl.col(evaluation.inputs).sum(),
            _AVERAGE.alias("average"),
            pl.col(VALUE).min().alias("least"),
            pl.col(VALUE).max().alias("greatest"),
            pl.len().alias("dispatches"),
        )
        .with_columns(value.alias(VALUE))
        .filter(pl.col(VALUE).is_not_null())
        .with_columns(
            pl.lit(name).alias("metric"),
            pl.lit(evaluation.metric.unit).alias("unit"),
            _doubt(evaluation, pl.col("dispatches")).alias("doubt"),
        )
        .select(pl.col(column).cast(dtype) for column, dtype in _KERNEL_ROW.items())
    )


def _doubt(evaluation: Evaluation, dispatches: pl.Expr) -> pl.Expr:
    """The doubts of `Evaluation.doubt`, for a column of values."""
    texts = [*map(pl.lit, evaluation.doubts), *evaluation.bounds.broken_by_column(pl.col(VALUE))]
    if evaluation.recipe.averaged:
        texts.append(pl.when(dispatches > 1).then(pl.lit(MEAN)))
    if not texts:
        return pl.lit(None, pl.String)
    text = pl.concat_str(texts, separator="; ", ignore_nulls=True)
    return pl.when(text != "").then(text)


def _known(name: str) -> str:
    if name in metrics():
        return name
    near = difflib.get_close_matches(name, metrics(), n=1)
    meant = f"did you mean {near[0]}?" if near else ""
    raise UsageError(f"there is no metric {name!r}", meant, f"Metrics: {', '.join(sorted(metrics()))}.")
