"""Which serving step calls and launches lie in, where the step's range states the lengths of its sequences."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.operators.work.step_lengths import MARK
from rocm_perf.model.trace import Trace

PROCESS = ["node", "pass_id", "rank", "pid"]

_KEY, _ROW, _STEP = "step process", "step row", "step"  # what no table has a column of


def with_step(trace: Trace, frame: pl.DataFrame, moment: str) -> pl.DataFrame:
    """The rows with the range of the step that was open in their process at the `moment` of each; null without one."""
    steps = _steps(whole_of(trace))
    if not steps.height:
        return frame.with_columns(pl.lit(None, pl.String).alias(_STEP))
    placed = frame.with_row_index(_ROW).with_columns(_process())
    timed = (
        placed.drop_nulls(moment)
        .sort(moment)
        .join_asof(steps, left_on=moment, right_on="step_start", by=_KEY, check_sortedness=False)
    )
    inside = timed.filter(pl.col(moment) < pl.col("step_end")).select(_ROW, _STEP)
    return placed.join(inside, on=_ROW, how="left", maintain_order="left").drop(_ROW, _KEY)


@once_per_trace
def _steps(trace: Trace) -> pl.DataFrame:
    ranges = trace.table("ranges").filter(~pl.col("on_gpu"), pl.col("name").str.contains(MARK, literal=True))
    return ranges.select(
        _process(), step_start="start_ns", step_end="end_ns", **{_STEP: pl.col("name")}
    ).sort("step_start")


def _process() -> pl.Expr:
    return pl.concat_str(PROCESS, separator=" ", ignore_nulls=True).alias(_KEY)
