"""Which serving step calls and launches lie in, where the step's range states the lengths of its sequences."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.analysis.operators.work.step_lengths import MARK
from rocm_perf.model.trace import Trace

PROCESS = ["node", "pass_id", "rank", "pid"]

_STEP = "step"


def with_step(trace: Trace, frame: pl.DataFrame, moment: str) -> pl.DataFrame:
    """The rows with the range of the step that was open in their process at the `moment` of each; null without one."""
    steps = _steps(whole_of(trace))
    if not steps.height:
        return frame.with_columns(pl.lit(None, pl.String).alias(_STEP))
    keys = telling(PROCESS, frame, steps)
    moments = frame.select(_process(keys), at=pl.col(moment)).with_row_index("row").sort("at")
    begun = moments.join_asof(
        steps.select(_process(keys), "end_ns", _STEP, at="start_ns"),
        on="at",
        by="process" if keys else None,
        check_sortedness=False,
    )
    is_open = pl.when(pl.col("at") < pl.col("end_ns"))
    return frame.with_columns(begun.sort("row").select(is_open.then(_STEP).alias(_STEP)).to_series())


@once_per_trace
def _steps(trace: Trace) -> pl.DataFrame:
    ranges = trace.table("ranges").filter(
        ~pl.col("on_gpu"), pl.col("name").cast(pl.String).str.contains(MARK)
    )
    return ranges.select(*PROCESS, "start_ns", "end_ns", pl.col("name").alias(_STEP)).sort("start_ns")


def _process(keys: list[str]) -> pl.Expr:
    """What tells the process of a row from others, as one text; nothing where there is one process."""
    if not keys:
        return pl.lit("").alias("process")
    return pl.concat_str(keys, separator=" ", ignore_nulls=True).alias("process")
