"""Calls of the runtime that cost much once: the first use of a device, a stream, a library or a kernel."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.launched import THREAD, launched_work, timed_calls
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.model.calls import COPY_CALL, LAUNCH_CALL, SYNC_CALL
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
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


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
    the GPU) and `usual` (the median of the function's other calls, null where there are none)."""
    calls, long = timed_calls(trace), _LENGTH >= _LEAST_NS
    functions = calls.group_by("name").agg(
        pl.len().alias("times"),
        _LENGTH.quantile(0.5, "lower").alias("middle"),
    )
    columns = (*THREAD, "name", "start_ns", "end_ns")
    waits = named(calls["name"], pl.col("name").str.contains(SYNC_CALL))
    outer = disjoint(calls.select(columns).filter(long & ~waits), THREAD).join(functions, on="name")
    busy = overlap_ns(outer, _elsewhere(trace), _PROCESS)
    one_off = outer.with_columns((_LENGTH - busy).alias("own")).filter(_is_one_off())
    usual = (
        calls.filter(pl.col("name").is_in(one_off["name"].unique().implode()))
        .join(one_off, on=columns, how="anti", nulls_equal=True)
        .group_by("name")
        .agg(_LENGTH.median().alias("usual"))
    )
    return one_off.join(usual, on="name", how="left", maintain_order="left").drop("times", "middle")


def _elsewhere(trace: Trace) -> pl.DataFrame:
    """When the GPU worked for each process, recorded or not."""
    spans = (*_PROCESS, "start_ns", "end_ns")
    return pl.concat([launched_work(trace).select(spans), unrecorded_waits(trace).select(spans)])


def _is_one_off() -> pl.Expr:
    own, name = pl.col("own"), pl.col("name").cast(pl.String).str
    works = name.contains(LAUNCH_CALL) | name.contains(
        COPY_CALL
    )  # a window of one step may hold few of these
    few = (pl.col("times") <= _FEW) & (~works | (own >= _TOO_LONG_NS))
    return (own >= _LEAST_NS) & (few | name.contains(_LOADING) | (own > _OUTLIER * pl.col("middle")))
