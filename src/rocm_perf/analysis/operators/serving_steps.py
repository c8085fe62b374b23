"""Which serving step calls and launches lie in, where the step's range states the lengths of its sequences."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.open_spans import open_at
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
    return frame.with_columns(open_at(frame, steps, frame[moment], PROCESS, _STEP))


@once_per_trace
def _steps(trace: Trace) -> pl.DataFrame:
    ranges = trace.table("ranges").filter(
        ~pl.col("on_gpu"), pl.col("name").cast(pl.String).str.contains(MARK)
    )
    return ranges.select(*PROCESS, "start_ns", "end_ns", pl.col("name").alias(_STEP))
