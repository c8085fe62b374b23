"""Calls of the runtime that cost much once: the first use of a device, a stream, a library or a kernel."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.calls import COPY_CALL, LAUNCH_CALL, SYNC_CALL
from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.launched import THREAD, launched_work, timed_calls
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.model.results.first_calls import OneOffCall
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, NS_PER_US

_FEW = 3  # calls of a function in the whole recording: no more than that is not part of a loop
_OUTLIER = 10  # times the median of the function: a call this long did something that the others did not
_LOADING = (
    r"ModuleLoad|LibraryLoad|LinkCreate|LinkComplete|CtxCreate|PrimaryCtxRetain"  # however often it is called
)
_LEAST_NS = 100 * NS_PER_US
_TOO_LONG_NS = 10 * NS_PER_MS  # to start a kernel or a copy, while the GPU runs nothing
_PROCESS = ("node", "pid")


def startup_calls(trace: Trace, until_ns: int | None = None) -> tuple[OneOffCall, ...]:
    """One-off calls that began before a time, or all of them, by function, most time first.

    Waiting for the GPU does not count, nor the part of a call in which the GPU worked, recorded or not.
    """
    calls = one_off_calls(trace)
    early = calls if until_ns is None else calls.filter(pl.col("start_ns") < until_ns)
    totals = early.group_by("name").agg(
        pl.len().alias("calls"), pl.col("own").sum().alias("total"), pl.col("usual").first()
    )
    ordered = totals.sort("total", "name", descending=[True, False])
    return tuple(
        OneOffCall(name=name, calls=calls, total_ns=total, usual_ns=usual)
        for name, calls, total, usual in ordered.iter_rows()
    )


@once_per_trace
def one_off_calls(trace: Trace) -> pl.DataFrame:
    """Outermost calls that took far longer than their function does otherwise, with `own` (their time without that of
    the GPU) and `usual` (the median of the others)."""
    columns = (*THREAD, "name", "start_ns", "end_ns")
    outer = disjoint(timed_calls(trace).select(columns), THREAD)
    outer = outer.filter(~pl.col("name").str.contains(SYNC_CALL))
    spans = (*_PROCESS, "start_ns", "end_ns")
    elsewhere = pl.concat([launched_work(trace).select(spans), unrecorded_waits(trace).select(spans)])
    busy = overlap_ns(outer, elsewhere, _PROCESS)
    own = outer.with_columns((pl.col("end_ns") - pl.col("start_ns") - busy).alias("own"))
    name = pl.col("name").str
    works = name.contains(LAUNCH_CALL) | name.contains(
        COPY_CALL
    )  # a window of one step may hold few of these
    few = (pl.len().over("name") <= _FEW) & (~works | (pl.col("own") >= _TOO_LONG_NS))
    usual = pl.col("own").quantile(0.5, "lower").over("name")
    outlier = few | name.contains(_LOADING) | (pl.col("own") > _OUTLIER * usual)
    long = (pl.col("own") >= _LEAST_NS) & outlier
    others = pl.col("own").filter(~pl.col("long")).median().over("name").alias("usual")
    return own.with_columns(long.alias("long")).with_columns(others).filter("long").drop("long")
