"""Outstanding launches: how many kernels, copies and fills a stream had been given and had not started, over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.keys import grouped, sorted_by, telling
from rocm_perf.analysis.basis.nested import CALL, with_launch
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches
from rocm_perf.analysis.basis.series import highest
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.operators import QueueLength
from rocm_perf.model.trace import Trace

FORMULAS = {
    "queue_length.series": "kernels, copies and fills launched - those started, on one stream; the longest within each "
    "step",
    "queue_length.mean": "sum over kernels, copies and fills of (start_ns - launch_ns) / window_ns",
    "queue_length.window_ns": "last end - first launch of the stream's work whose launch is recorded",
}
_EMPTY = "1 - |union of [launch_ns, start_ns]| / window_ns"
_STARVED = "1 - |union of [launch_ns, end_ns]| / window_ns"

CHARTS = 100  # of the busiest streams; the others have no series

_STREAM = ["node", "agent_id", "stream_id"]
_NEEDED = list(dict.fromkeys((*_STREAM, *CALL, "start_ns", "end_ns")))


def queue_lengths(trace: Trace) -> tuple[QueueLength, ...]:
    """One row for each stream, busiest first; without rows where no launch is recorded."""
    work = with_launch(trace, _work(trace))
    # A launch that seems to follow its work is an error of the clocks: the work did not wait.
    given = pl.min_horizontal("launch_ns", "start_ns")
    launched = work.drop_nulls("launch_ns").with_columns(given.alias("launch_ns"))
    if not launched.height:
        return ()
    waiting = _union(launched, "launch_ns", "start_ns").rename({"union_ns": "waiting_ns"})
    present = _union(launched, "launch_ns", "end_ns").rename({"union_ns": "present_ns"})
    table = (
        grouped(
            launched,
            _STREAM,
            pl.col("is_kernel").sum().alias("dispatches"),
            (~pl.col("is_kernel")).sum().alias("copies"),
            pl.col("launch_ns").min().alias("first_ns"),
            (pl.col("end_ns").max() - pl.col("launch_ns").min()).alias("window_ns"),
            (pl.col("start_ns") - pl.col("launch_ns")).sum().alias("wait_ns"),
        )
        .join(waiting.select(*_STREAM, "waiting_ns"), on=_STREAM, nulls_equal=True)
        .join(present.select(*_STREAM, "present_ns"), on=_STREAM, nulls_equal=True)
        .join(_unpaired(work), on=_STREAM, how="left", nulls_equal=True)
        .sort("dispatches", "copies", descending=True)
        .with_row_index("stream")
    )
    streams = table.select("stream", *_STREAM)
    keys = telling(_STREAM, launched) or _STREAM[:1]
    times = launched.select(*keys, "launch_ns", "start_ns")
    levels = _levels(times.join(streams.select("stream", *keys), on=keys, nulls_equal=True))
    longest = dict(levels.group_by("stream").agg(pl.col("level").max()).iter_rows())
    return tuple(
        _row(
            row,
            longest.get(number, 0),
            levels.filter(pl.col("stream") == number) if number < CHARTS else None,
        )
        for number, row in enumerate(table.iter_rows(named=True))
    )


def _work(trace: Trace) -> pl.DataFrame:
    """Kernels, copies and fills. Where a recorder does not name the stream of a copy, its queue is not known."""
    kernels, copies = timed_dispatches(trace).select(_NEEDED), timed_copies(trace).select(_NEEDED)
    return pl.concat(
        [
            kernels.with_columns(pl.lit(True).alias("is_kernel")),
            copies.drop_nulls("stream_id").with_columns(pl.lit(False).alias("is_kernel")),
        ]
    )


def _union(work: pl.DataFrame, start: str, end: str) -> pl.DataFrame:
    spans = work.select(*_STREAM, pl.col(start).alias("start_ns"), pl.col(end).alias("end_ns"))
    return union_ns(spans, _STREAM)


def _unpaired(work: pl.DataFrame) -> pl.DataFrame:
    return grouped(work, _STREAM, pl.col("launch_ns").is_null().sum().alias("unpaired"))


def _row(row: Mapping[str, Any], longest: int, levels: pl.DataFrame | None) -> QueueLength:
    window, first = row["window_ns"], row["first_ns"]
    step, series = (float(window), ()) if levels is None else highest(levels, first, first + window)
    return QueueLength(
        node=row["node"],
        agent_id=row["agent_id"],
        stream_id=row["stream_id"],
        dispatches=row["dispatches"],
        copies=row["copies"],
        unpaired=row["unpaired"],
        window_ns=window,
        longest=longest,
        mean=row["wait_ns"] / window if window else 0.0,
        empty=_without(row["waiting_ns"], window, _EMPTY),
        starved=_without(row["present_ns"], window, _STARVED),
        start_ns=first,
        step_ns=step,
        series=series,
    )


def _without(covered: int, window: int, formula: str) -> Quantity:
    if not window:
        return Quantity(None, "", formula, unavailable="the window has no length")
    return Quantity(
        value=1 - covered / window,
        unit="",
        formula=formula,
        inputs={"covered_ns": covered, "window_ns": window},
    )


def _levels(work: pl.DataFrame) -> pl.DataFrame:
    """The length of each stream's queue from each change on. Leaving comes before arriving, so an empty instant stays
    empty."""
    waited = work.filter(pl.col("start_ns") > pl.col("launch_ns"))
    changes = pl.concat(
        waited.select("stream", pl.col(column).alias("time_ns"), pl.lit(change, pl.Int8).alias("change"))
        for column, change in (("start_ns", -1), ("launch_ns", 1))
    )
    ordered = sorted_by(
        changes, *telling(["stream"], changes), "time_ns"
    )  # and by change, as they are already
    # All work that arrives leaves, so the sum is back at 0 where the next stream begins.
    levels = ordered.select("stream", "time_ns", pl.col("change").cum_sum().alias("level"))
    same = [pl.col(name) == pl.col(name).shift(-1) for name in ("stream", "time_ns")]
    return levels.filter(~pl.all_horizontal(same).fill_null(False))
