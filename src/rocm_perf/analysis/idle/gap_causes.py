"""Why a GPU stood idle: each idle interval is divided among causes by what the thread that launched the next kernel did
meanwhile, and after its launch by what held the kernel back. The parts of an interval sum to it exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

import polars as pl

from rocm_perf.analysis.basis.intervals import count_between, disjoint, overlap_ns, overlaps_ns
from rocm_perf.analysis.basis.keys import named, ordered, over, telling
from rocm_perf.analysis.basis.launched import GPU, THREAD, delay
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.calls import COPY_CALL, SYNC_CALL
from rocm_perf.model.results.gaps import Cause

CAUSES: tuple[Cause, ...] = get_args(Cause)

# Releasing memory waits for the device; that it did shows in GPU work during the call.
_FREEING_CALL = r"^(hip|cuda|cu)(Host|Mem)?Free(Host|Array)?(_v\d)?$"
_STREAM_WAIT = r"^(hip|cuda|cu)StreamWaitEvent"
_FREE = "free"
_HELD_CAUSES = ("event", "queue_gap", "launch_latency")
_CALL_CAUSES = ("host_sync", "copy", "host_api")
_CALL_KINDS = pl.Enum([*_CALL_CAUSES, _FREE])
_PROCESS = ("node", "pid")
_LAUNCHES = (*_PROCESS, "launch_name")  # a slow host is slow in its own launches alone

# Launches that found the GPU idle show how long a launch takes: nearly all of them, but for outliers, which waited for
# something else. A wait for an event that holds a kernel back this many times longer is not a slow queue.
_LATENCY_QUANTILE = 0.9
_OUTLIER = 3
_LONG_WAIT = 10


def host_calls(calls: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """The outermost calls of each thread, disjoint, each with the cause that it is."""
    outer = disjoint(calls.select(*THREAD, "name", "start_ns", "end_ns"), THREAD)
    outer = outer.with_columns(_kinds(outer["name"]).alias("cause"))
    frees = outer.filter(pl.col("cause") == _FREE)
    waited = overlap_ns(frees, work, _PROCESS) > 0
    cause = pl.when(waited).then(pl.lit("host_sync")).otherwise(pl.lit("host_api")).cast(_CALL_KINDS)
    freed = frees.with_columns(cause.alias("cause"))
    return pl.concat([outer.filter(pl.col("cause") != _FREE), freed])


def _kinds(names: pl.Series) -> pl.Series:
    """The cause that a call of each name is; distinct names are worked out once."""
    name = pl.col("name").cast(pl.String).str
    kind = (
        pl.when(name.contains(SYNC_CALL))
        .then(pl.lit("host_sync"))
        .when(name.contains(COPY_CALL))
        .then(pl.lit("copy"))
        .when(name.contains(_FREEING_CALL))
        .then(pl.lit(_FREE))
        .otherwise(pl.lit("host_api"))
    )
    known = names.unique().to_frame("name").with_columns(kind.cast(_CALL_KINDS).alias("kind"))
    return names.to_frame("name").join(known, on="name", how="left", maintain_order="left")["kind"]


def host_windows(gaps: pl.DataFrame) -> pl.DataFrame:
    """The part of each gap before its launch had returned: the host's part."""
    until = pl.min_horizontal("start_ns", pl.max_horizontal("launch_end", "since_ns"))
    return gaps.with_columns(pl.col("since_ns").alias("start_ns"), until.alias("end_ns"))


class Host(NamedTuple):
    """What is known of the host: its calls, the processes whose operators are recorded, and when threads load data."""

    calls: pl.DataFrame
    operators: pl.DataFrame
    loading: pl.DataFrame


def attribute(gaps: pl.DataFrame, host: Host, work: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """One column of nanoseconds for each cause.

    `gaps` are rows of launched_work that end a gap, with since_ns and before_launch_start (when the work before
    them was launched); the calls are host_calls; `waits` are unrecorded_waits.
    """
    known = gaps.filter(pl.col("launch_end").is_not_null())
    unknown = gaps.filter(pl.col("launch_end").is_null())
    divided = _device_part(_host_part(known, host), host.calls, work)
    nothing = unknown.with_columns(_length().alias("nothing_recorded"))
    filled = pl.concat([divided, nothing], how="diagonal_relaxed")
    missing = [pl.lit(0, pl.Int64).alias(cause) for cause in CAUSES if cause not in filled.columns]
    return _moved(filled.with_columns(missing).with_columns(pl.col(CAUSES).fill_null(0)), waits)


def _moved(gaps: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """The gaps with the time in waits behind unrecorded work moved to that cause."""
    if not waits.height:
        return gaps
    spans = gaps.select(*GPU, pl.col("since_ns").alias("start_ns"), pl.col("start_ns").alias("end_ns"))
    for held, causes in ((True, _HELD_CAUSES), (False, ("host_sync",))):
        left = overlap_ns(spans, waits.filter(pl.col("held") == held), GPU)
        for cause in causes:
            moved = pl.Series(pl.select(pl.min_horizontal(gaps[cause], left)).to_series())
            gaps = gaps.with_columns(gaps[cause] - moved, gaps["unrecorded"] + moved)
            left = left - moved
    return gaps


def synchronised(gaps: pl.DataFrame, calls: pl.DataFrame) -> pl.Series:
    """Whether the launching thread synchronised between the launch before the gap and the one after it."""
    return _called_between(gaps, calls.filter(pl.col("cause") == "host_sync")) > 0


def _length() -> pl.Expr:
    return pl.col("start_ns") - pl.col("since_ns")


def _host_part(gaps: pl.DataFrame, host: Host) -> pl.DataFrame:
    windows = host_windows(gaps)
    inside = overlaps_ns(windows, host.calls.rename({"cause": "kind"}), THREAD, _CALL_CAUSES)
    loads = _outside_calls(windows, host.loading, host.calls)
    outside = windows["end_ns"] - windows["start_ns"] - inside.sum_horizontal() - loads
    recorded = host.operators.with_columns(pl.lit(True).alias("recorded"))
    divided = gaps.with_columns(*inside, loads.alias("loading"), outside.alias("outside")).join(
        recorded, on=_PROCESS, how="left", nulls_equal=True
    )
    between = pl.when(pl.col("recorded"))
    return divided.with_columns(
        between.then("outside").otherwise(0).alias("framework"),
        between.then(0).otherwise("outside").alias("host_busy"),
    ).drop("outside", "recorded")


def _outside_calls(windows: pl.DataFrame, spans: pl.DataFrame, calls: pl.DataFrame) -> pl.Series:
    """For each window, the time inside the spans and in no call."""
    if not spans.height:
        return pl.zeros(windows.height, pl.Int64, eager=True)
    columns = [*THREAD, "start_ns", "end_ns"]
    either = pl.concat([calls.select(columns), spans.select(columns)])
    inside: pl.Series = overlap_ns(windows, either, THREAD) - overlap_ns(windows, calls, THREAD)
    return inside


def _device_part(gaps: pl.DataFrame, calls: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """From the return of the launch on: its latency, then what held the kernel back."""
    latencies = _latencies(work)
    keys = telling(_LAUNCHES, gaps, latencies) or _LAUNCHES[:1]
    timed = gaps.join(latencies.select(*keys, "latency"), on=keys, how="left", nulls_equal=True).with_columns(
        pl.col("latency").fill_null(0)
    )
    launched = pl.max_horizontal("launch_end", "since_ns")
    due = pl.col("launch_end") + pl.col("latency")
    # Launched before the GPU fell idle: latency is the cause only if the kernel began as soon as it could.
    began = (
        pl.when(pl.col("launch_end") >= pl.col("since_ns"))
        .then(pl.min_horizontal("start_ns", due))
        .otherwise(pl.when(pl.col("start_ns") <= due).then("start_ns").otherwise("since_ns"))
    )
    timed = timed.with_columns(pl.min_horizontal("start_ns", launched).alias("launched")).with_columns(
        pl.max_horizontal("launched", began).alias("held_from")
    )
    makes_wait = named(calls["name"], pl.col("name").str.contains(_STREAM_WAIT))
    awaited = _called_between(timed, calls.filter(makes_wait)) > 0
    timed = timed.with_columns(
        (pl.col("held_from") - pl.col("launched")).alias("launch_latency"),
        (pl.col("start_ns") - pl.col("held_from")).alias("held"),
    )
    divided = [timed.filter(~awaited).with_columns(pl.col("held").alias("queue_gap"))]
    if awaited.any():
        divided.append(_held_back(timed.filter(awaited), work))
    return pl.concat(divided, how="diagonal_relaxed").drop("latency", "launched", "held_from", "held")


def _held_back(gaps: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """That a stream waits for an event is recorded as a call, but not what it waits for: what ran elsewhere tells."""
    held = gaps.select(*_PROCESS, pl.col("held_from").alias("start_ns"), pl.col("start_ns").alias("end_ns"))
    copies = overlap_ns(held, work.filter(pl.col("kind") == "copy"), _PROCESS)
    collectives = overlap_ns(held, work.filter(is_collective(work["name"])), _PROCESS)
    anything = overlap_ns(held, work, _PROCESS)
    parts = gaps.with_columns(
        copies.alias("by_copy"),
        pl.min_horizontal(collectives, anything - copies).alias("collective"),
        anything.alias("by_any"),
    )
    nothing = pl.col("held") - pl.col("by_any")
    long = (pl.col("latency") > 0) & (nothing > _LONG_WAIT * pl.col("latency"))
    unseen = pl.when(long).then(nothing).otherwise(0)
    return parts.with_columns(
        (pl.col("copy") + pl.col("by_copy")).alias("copy"),
        (pl.col("by_any") - pl.col("by_copy") - pl.col("collective") + unseen).alias("event"),
        (nothing - unseen).alias("queue_gap"),
    ).drop("by_copy", "by_any")


def _latencies(work: pl.DataFrame) -> pl.DataFrame:
    """How long a launch of each process by each function takes: nearly all of those that found the GPU idle, the first
    one included."""
    before = over(pl.col("end_ns").cum_max().shift(1), telling(GPU, work))
    found_idle = pl.col("launch_end") >= pl.coalesce(before, "launch_end")
    columns = work.select(*GPU, "pid", "start_ns", "end_ns", "launch_name", "launch_end")
    times = ordered(columns, ["start_ns"])
    idle = times.filter(found_idle & (delay() >= 0))
    usual, most = delay().quantile(0.5, "lower"), delay().quantile(_LATENCY_QUANTILE, "nearest")
    latency = pl.min_horizontal(most, _OUTLIER * usual).cast(pl.Int64).alias("latency")
    return idle.group_by(_LAUNCHES).agg(latency)


def _called_between(gaps: pl.DataFrame, calls: pl.DataFrame) -> pl.Series:
    """How many of the calls the launching thread began between the earlier launch and that of the gap's end."""
    earliest = pl.min_horizontal(pl.col("launch_start").min(), pl.col("since_ns").min())
    windows = gaps.select(
        *THREAD,
        pl.min_horizontal(pl.coalesce("before_launch_start", earliest), "launch_start").alias("start_ns"),
        pl.col("launch_start").alias("end_ns"),
    )
    return count_between(windows, calls, THREAD)


def longest_calls(window: pl.DataFrame, calls: pl.DataFrame, most: int) -> Sequence[str]:
    """The functions in which the launching thread spent the window of one gap, longest first."""
    (row,) = host_windows(window).iter_rows(named=True)
    if row["launch_end"] is None:
        return ()
    start, end = row["start_ns"], row["end_ns"]
    thread = [pl.col(key).eq_missing(pl.lit(row[key])) for key in THREAD]
    length = pl.min_horizontal("end_ns", pl.lit(end)) - pl.max_horizontal("start_ns", pl.lit(start))
    inside = calls.filter(pl.col("start_ns") < end, pl.col("end_ns") > start).filter(*thread)
    totals = inside.group_by("name").agg(length.sum().alias("length"))
    return totals.sort("length", "name", descending=[True, False])["name"].head(most).to_list()
