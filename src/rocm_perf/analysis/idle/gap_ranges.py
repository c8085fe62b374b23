"""Which named part of the program a launching thread was in while the GPU stood idle."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.launched import THREAD
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.idle.gap_causes import host_windows
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.model.results.gaps import RangeTime
from rocm_perf.model.trace import Trace

_EXPLAINS = 0.5  # of the host's part of the idle time
_WHOLE = 0.9  # of the wall: a range that long names no part of the program
_MOST_NAMES = 200  # of ranges; programs that number them have thousands, none of which holds most of the time


def idle_ranges(trace: Trace, idle: pl.DataFrame) -> tuple[RangeTime, ...]:
    """Ranges that hold most of the idle time before launches, the shortest in all first: it says most.

    `idle` are gaps with launch_end, of whole GPUs.
    """
    if not trace.has("ranges") and not trace.has("ops"):
        return ()
    known = idle.filter(pl.col("launch_end").is_not_null())
    columns = [*THREAD, "start_ns", "since_ns", "launch_end"]
    windows = disjoint(host_windows(known.select(columns)), THREAD)
    ranges = _ranges(trace, windows)
    if not windows.height or not ranges.height:
        return ()
    idle_ns = int((windows["end_ns"] - windows["start_ns"]).sum())
    spent = pl.col("end_ns") - pl.col("start_ns")
    timed = ranges.with_columns(overlap_ns(ranges, windows, THREAD).alias("idle"), spent.alias("total"))
    names = timed.group_by("name").agg(pl.col("idle", "total").sum())
    explains = pl.col("idle") >= _EXPLAINS * idle_ns
    telling = names.filter(explains & (pl.col("total") <= _WHOLE * (wall_ns(trace) or 0)))
    rows = telling.sort("total", "name").iter_rows()
    return tuple(RangeTime(name=name, idle_ns=inside, total_ns=whole) for name, inside, whole in rows)


def _ranges(trace: Trace, windows: pl.DataFrame) -> pl.DataFrame:
    """Ranges and outermost operators of launching threads by name, those of one name disjoint; the longest names."""
    of_pass = (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") > pl.col("start_ns"))
    columns = ["name", *THREAD, "start_ns", "end_ns"]
    ranges = trace.table("ranges").filter(of_pass & ~pl.col("on_gpu")).select(columns)
    operators = trace.table("ops").filter(of_pass & (pl.col("category") == "operator")).select(columns)
    spans = pl.concat([ranges, disjoint(operators, THREAD)])
    mine = spans.join(windows.select(THREAD).unique(), on=THREAD, how="semi", nulls_equal=True)
    spent = (pl.col("end_ns") - pl.col("start_ns")).sum()
    names = mine.group_by("name").agg(spent.alias("spent")).top_k(_MOST_NAMES, by="spent")
    return disjoint(mine.join(names, on="name", how="semi"), ["name", *THREAD])
