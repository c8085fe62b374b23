"""What of the last step of a part comes after the last work of a GPU: until the next step begins, the GPU is as idle as
between two kernels."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import firsts, ordered
from rocm_perf.analysis.basis.launched import GPU, launched_work
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import cut_until_ns, whole_of
from rocm_perf.model.trace import Trace

PLACE = (*GPU, "queue_id", "stream_id")


@once_per_trace
def lead_outs(part: Trace) -> pl.DataFrame:
    """Of each queue and stream of the part the first work that follows it, as if it took no time where the part ends:
    it ends the idle time before that."""
    until = cut_until_ns(part)
    if until is None:
        return launched_work(part).clear()
    later = launched_work(whole_of(part)).filter(pl.col("start_ns") >= until)
    following = firsts(ordered(later, ["start_ns", "launch_start"], nulls_last=["launch_start"]), PLACE)
    own = following.join(launched_work(part).select(PLACE).unique(), on=PLACE, how="semi", nulls_equal=True)
    moment = pl.lit(until, pl.Int64)
    return own.with_columns(start_ns=moment, end_ns=moment)
