"""Counters need several runs of the application; times must come from one of them."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.trace import Trace


@once_per_trace
def timed_pass(trace: Trace) -> int | None:
    """The pass whose times are shown: the first that recorded times, since counter passes run slower."""
    frame = (
        trace.lazy("dispatches")
        .filter(pl.col("start_ns").is_not_null())
        .select(pl.col("pass_id").min())
        .collect()
    )
    return frame.item() if frame.height else None


def shown_pass(trace: Trace) -> int | None:
    """The timed pass, or the first one where no pass has times."""
    number = timed_pass(trace)
    if number is not None:
        return number
    frame = trace.lazy("dispatches").select(pl.col("pass_id").min()).collect()
    return frame.item() if frame.height else None


@once_per_trace
def timed_dispatches(trace: Trace) -> pl.DataFrame:
    """Dispatches of that pass with a usable start and end."""
    number = timed_pass(trace)
    dispatches = trace.table("dispatches")
    if number is None:
        return dispatches.clear()
    usable = (pl.col("pass_id") == number) & (pl.col("end_ns") >= pl.col("start_ns"))
    return dispatches.filter(usable)
