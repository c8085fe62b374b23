"""Counters need several runs of the application; times must come from one of them."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.trace import Trace

_TIMED = pl.col("end_ns") >= pl.col("start_ns")
_BESIDE_KERNELS = ("copies", "api_calls", "ops", "ranges", "allocations")


@once_per_trace
def kernel_pass(trace: Trace) -> int | None:
    """The first pass that recorded when kernels ran, since counter passes run slower; None where none did."""
    return _first_timed(trace, "dispatches")


@once_per_trace
def timed_pass(trace: Trace) -> int:
    """The pass whose times are shown: that of the kernels or, without their times, the first that recorded when
    anything else happened; 0 where nothing has a time."""
    if (number := kernel_pass(trace)) is not None:
        return number
    return min(
        (first for name in _BESIDE_KERNELS if (first := _first_timed(trace, name)) is not None), default=0
    )


def _first_timed(trace: Trace, name: str) -> int | None:
    timed = trace.lazy(name).filter(pl.col("start_ns").is_not_null())
    frame = timed.select(pl.col("pass_id").min()).collect()
    return frame.item() if frame.height else None


@once_per_trace
def shown_pass(trace: Trace) -> int | None:
    """The pass with the times of kernels, or the first one where no pass has them."""
    number = kernel_pass(trace)
    if number is not None:
        return number
    frame = trace.lazy("dispatches").select(pl.col("pass_id").min()).collect()
    return frame.item() if frame.height else None


@once_per_trace
def timed_dispatches(trace: Trace) -> pl.DataFrame:
    """Dispatches of that pass with a usable start and end."""
    return _of_pass(trace.table("dispatches"), timed_pass(trace))


@once_per_trace
def timed_copies(trace: Trace) -> pl.DataFrame:
    """Copies of that pass with a usable start and end."""
    return _of_pass(trace.table("copies"), timed_pass(trace))


@once_per_trace
def dispatches_by_kernel(trace: Trace) -> pl.DataFrame:
    """All dispatches, `kernel` as a category: names are long, and grouping by them takes four times as long."""
    return trace.table("dispatches").with_columns(pl.col("kernel").cast(pl.Categorical))


@once_per_trace
def timed_by_kernel(trace: Trace) -> pl.DataFrame:
    """The timed dispatches, `kernel` as a category."""
    return _of_pass(dispatches_by_kernel(trace), timed_pass(trace))


def timed_rows(trace: Trace, name: str) -> pl.LazyFrame:
    """The rows of a table that belong to that pass and have a usable start and end, each with `row`, its place in the
    table."""
    usable = (pl.col("pass_id") == timed_pass(trace)) & _TIMED
    return trace.lazy(name).with_row_index("row").filter(usable)


def _of_pass(table: pl.DataFrame, number: int) -> pl.DataFrame:
    """The usable rows; the table itself, not a copy of it, where that is all of them."""
    usable = table.select((pl.col("pass_id") == number) & _TIMED).to_series().fill_null(False)
    return table if usable.all() else table.filter(usable)
