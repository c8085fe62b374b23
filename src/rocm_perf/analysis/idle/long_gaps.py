"""Gaps that are too long for what a launch takes: how much of them the host spends on something else."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.launched import THREAD
from rocm_perf.analysis.basis.loading import loading_spans
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.idle.gap_causes import host_windows
from rocm_perf.model.results.gaps import Cause, LongGaps
from rocm_perf.model.trace import Trace

OUTSIDE_CALLS: tuple[Cause, ...] = ("framework", "loading", "host_busy")
LONG_NS = 1_000_000  # no framework takes that long to prepare a launch
_NAMESPACE = "::"  # of a framework's operators; a program's own blocks, recorded as operators, have none


def long_gaps(trace: Trace, idle: pl.DataFrame, calls: pl.DataFrame) -> LongGaps:
    """The long ones of these gaps, and the time in them in which the launching thread is in none of these calls and in
    no operator of the framework: an operator may be slow, but it belongs to the program's own work."""
    long = idle.filter(pl.col("start_ns") - pl.col("since_ns") >= LONG_NS)
    outside = long.select(pl.sum_horizontal(OUTSIDE_CALLS)).to_series()
    elsewhere = outside - in_operators(trace, long, calls)
    return LongGaps(gaps=int((elsewhere > 0).sum()), host_ns=int(elsewhere.sum()))


def in_operators(trace: Trace, gaps: pl.DataFrame, calls: pl.DataFrame) -> pl.Series:
    """Return, for each gap, how long the launching thread was in operators of a framework, but in no call."""
    operators = _operators(trace) if gaps.height else gaps
    if not operators.height:
        return pl.zeros(gaps.height, pl.Int64, eager=True)
    windows = host_windows(gaps.select(*THREAD, "start_ns", "since_ns", "launch_end"))
    spans = [frame.select(*THREAD, "start_ns", "end_ns") for frame in (calls, operators)]
    inside = overlap_ns(windows, pl.concat(spans), THREAD) - overlap_ns(windows, calls, THREAD)
    known: pl.Series = inside * gaps["launch_end"].is_not_null().cast(pl.Int64)
    return known


def _operators(trace: Trace) -> pl.DataFrame:
    """The outermost operators of the framework, without those of the part of the program that loads data."""
    name, columns = pl.col("name"), [*THREAD, "start_ns", "end_ns"]
    rows = timed_rows(trace, "ops").filter(pl.col("category") == "operator")
    # Collected before any name is looked at: one filter would look at those of Python frames too.
    operators = rows.select(name.cast(pl.String), *columns).collect()
    frameworks = operators.filter(named(operators["name"], name.str.contains(_NAMESPACE)))
    outermost = disjoint(frameworks.select(columns), THREAD)
    return outermost.filter(overlap_ns(outermost, loading_spans(trace), THREAD) == 0)
