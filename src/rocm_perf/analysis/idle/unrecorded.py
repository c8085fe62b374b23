"""Waits behind work of the GPU that the recording does not hold: from before it began, or of another process."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint, holes, overlap_ns
from rocm_perf.analysis.basis.keys import firsts, named, ordered
from rocm_perf.analysis.basis.launched import GPU, launched_work, timed_calls
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.calls import HOST_CALL, SYNC_CALL
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS

# A queue takes microseconds to begin what it was given, and a waiting host as long to wake up.
LONG_WAIT_NS = 5 * NS_PER_MS
_NOTHING = 0.01  # of a wait: work that covers no more of it is not what was waited for
_PROCESS = ("node", "pid")
_HOST_WORK = rf"{HOST_CALL}|StreamWaitValue"  # streams may wait for the host itself
_WAIT = {
    "node": pl.Int32,
    "pid": pl.Int64,
    "agent_id": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "name": pl.String,
    "launch_end": pl.Int64,
    "launch_name": pl.String,
    "held": pl.Boolean,
    "call": pl.String,
    "inside": pl.Boolean,
}
_SPAN = ("start_ns", "end_ns")
_LAUNCH = ("launch_end", "launch_name")
_SIGNAL = "^hsa_"  # threads of the runtime wait for signals all the time
_CALL = {"name": "call", "start_ns": "called", "end_ns": "returned"}


@once_per_trace
def unrecorded_waits(trace: Trace) -> pl.DataFrame:
    """Intervals in which nothing recorded ran on a GPU, although work launched before waited for its turn there, or
    the host for the GPU.

    Columns: node, pid, agent_id, start_ns, end_ns; name (of the work that ends it), launch_end and launch_name (when
    and by what that was launched), held (whether it had been by then), call (in which the host spent most of it),
    inside (between recorded work, like idle time).
    """
    calls = timed_calls(trace)
    columns = calls.select(*_PROCESS, *(pl.col(old).alias(new) for old, new in _CALL.items()))
    long = columns.filter(pl.col("returned") - pl.col("called") >= LONG_WAIT_NS).cast({"call": pl.String})
    by_host = named(calls["name"], pl.col("name").str.contains(_HOST_WORK)).any()
    idle = _without_work(trace) if calls.height and not by_host else None
    if idle is None or not idle.height:
        return pl.DataFrame(schema=_WAIT)
    launched = pl.max_horizontal("launch_end", "since_ns").alias("start_ns")
    held = idle.drop_nulls("launch_end").with_columns(
        launched, pl.col("start_ns").alias("end_ns"), pl.lit(True).alias("held")
    )
    waits = pl.concat([held, _awaited(idle, long)]).filter(
        pl.col("end_ns") - pl.col("start_ns") >= LONG_WAIT_NS
    )
    return _with_calls(disjoint(waits, GPU), long).select(*_WAIT)


def _without_work(trace: Trace) -> pl.DataFrame:
    """What ends each long idle time of a GPU, and its first work of all, with `since_ns` and `inside`."""
    work = launched_work(trace).select(*_PROCESS, "agent_id", "name", *_SPAN, *_LAUNCH)
    gaps = holes(work, GPU).with_columns(pl.lit(True).alias("inside"))
    first = firsts(ordered(work, ["start_ns"]), GPU)
    led_in = first.with_columns(pl.col("launch_end").alias("since_ns"), pl.lit(False).alias("inside"))
    idle = pl.concat([gaps, led_in]).filter(pl.col("start_ns") - pl.col("since_ns") >= LONG_WAIT_NS)
    idle = idle.cast({"name": pl.String, "launch_name": pl.String})
    spans = idle.select(*_PROCESS, pl.col("since_ns").alias("start_ns"), pl.col("start_ns").alias("end_ns"))
    elsewhere = overlap_ns(spans, work, _PROCESS)  # on another GPU, which this one may have waited for
    return idle.filter(elsewhere <= _NOTHING * (spans["end_ns"] - spans["start_ns"]))


def _awaited(idle: pl.DataFrame, long: pl.DataFrame) -> pl.DataFrame:
    """The part of idle time that a host which had launched before spent waiting for the GPU."""
    syncs = long.filter(pl.col("call").str.contains(SYNC_CALL) & ~pl.col("call").str.contains(_SIGNAL))
    both = idle.join(syncs, on=_PROCESS, nulls_equal=True).filter("inside")
    return both.select(
        *(name for name in idle.columns if name not in _SPAN),
        pl.max_horizontal("since_ns", "called").alias("start_ns"),
        pl.min_horizontal("start_ns", "returned").alias("end_ns"),
        pl.lit(False).alias("held"),
    ).select(*idle.columns, "held")


def _with_calls(waits: pl.DataFrame, long: pl.DataFrame) -> pl.DataFrame:
    """Each wait with the call of its process that covers most of it, if that is at least half."""
    numbered = waits.with_row_index("wait")
    shared = pl.min_horizontal("end_ns", "returned") - pl.max_horizontal("start_ns", "called")
    both = numbered.join(long, on=_PROCESS, nulls_equal=True).with_columns(shared.alias("shared"))
    most = both.filter(2 * pl.col("shared") >= pl.col("end_ns") - pl.col("start_ns")).sort(
        "shared", descending=True
    )
    longest = most.unique("wait", keep="first").select("wait", "call")
    return numbered.join(longest, on="wait", how="left", maintain_order="left")
