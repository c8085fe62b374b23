"""What was open on a host thread at a given time: spans nested by time, and the launches of GPU work placed in
them. Operators, Python frames and named ranges all nest this way."""

from __future__ import annotations

import numpy as np
import polars as pl

from rocm_perf.analysis.basis.forest import first_reaching
from rocm_perf.analysis.basis.keys import firsts, telling
from rocm_perf.analysis.basis.launched import CALL_KEY, with_calls
from rocm_perf.analysis.basis.module_spans import added_spans
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.trace import Trace

THREAD = ["node", "pass_id", "rank", "pid", "tid"]
CALL = ["node", "pass_id", "rank", "pid", "correlation_id"]
_OP = [*THREAD, "category", "name", "op_id", "sequence", "start_ns", "end_ns"]
_LAUNCH = {"launch_ns": "start_ns", "launch_end_ns": "end_ns", "launch_tid": "tid"}
_FOREVER = 2**63 - 1


def nest(spans: pl.DataFrame, track: list[str] = THREAD) -> pl.DataFrame:
    """The spans in order of track, start and length, with `row` (their place), `track_id`, and, as rows, `parent` and
    `behind` (see forest.py).

    The parent is the innermost span that was open on the track when this one began; spans without both times
    are left out.
    """
    timed = spans.filter(pl.col("end_ns") >= pl.col("start_ns"))
    ordered = _with_track(timed, track).sort(
        ["track_id", "start_ns", "end_ns"], descending=[False, False, True], maintain_order=True
    )
    new_track = (pl.col("track_id") != pl.col("track_id").shift(1)).fill_null(True)
    closing = ordered.select(pl.when(new_track).then(_FOREVER).otherwise("start_ns")).to_series()
    parents, behind = _sweep(closing.to_list(), ordered["end_ns"].to_list())
    return ordered.with_row_index("row").with_columns(parents, behind)


def _with_track(spans: pl.DataFrame, track: list[str]) -> pl.DataFrame:
    """The spans with the number of their track, in the order in which tracks are first seen.

    Spans of one track mostly follow one another, so only the first of each run is looked up.
    """
    place = spans.select(pl.struct(track)).to_series()
    heads = place.rle().struct.field("value").struct.unnest()
    tracks = heads.unique(maintain_order=True).with_row_index("track_id")
    numbers = heads.join(tracks, on=track, how="left", nulls_equal=True, maintain_order="left")["track_id"]
    return spans.with_columns(numbers.gather(place.rle_id()))


def _sweep(closing: list[int], ends: list[int]) -> tuple[pl.Series, pl.Series]:
    """Parent and behind of each span, of spans in their order; each closes what has ended by its value of `closing`,
    its start, or anything if it is the first of a track."""
    behind = [len(ends)] * len(ends)
    parents: list[int] = []
    ends.append(_FOREVER + 1)  # what has no parent has -1, and that is never closed
    for row, closed in enumerate(closing):
        above = row - 1
        while ends[above] <= closed:
            behind[above] = row
            above = parents[above]
        parents.append(above)
    above_or_none = pl.Series("parent", parents, dtype=pl.Int64).replace(-1, None).cast(pl.UInt32)
    return above_or_none, pl.Series("behind", behind, dtype=pl.UInt32)


def enclosing(nested: pl.DataFrame, points: pl.DataFrame, track: list[str] = THREAD) -> pl.Series:
    """The row of the innermost span open at each point (columns of the track, and time_ns); null where none is."""
    times = points["time_ns"]
    latest = _latest(nested, points, track)
    return first_reaching(nested["parent"], nested["end_ns"], latest, times).alias("enclosing")


def _latest(nested: pl.DataFrame, points: pl.DataFrame, track: list[str]) -> pl.Series:
    """The row of the last span that began on the track of each point before it; null where none had."""
    tracks = nested.select("track_id", *track).unique("track_id")
    if tracks.height == 1 and not telling(track, nested, points) and not points["time_ns"].null_count():
        begun = np.searchsorted(nested["start_ns"].to_numpy(), points["time_ns"].to_numpy(), "right")
        rows = pl.Series(begun)
        return pl.select(pl.when(rows > 0).then(rows - 1).cast(pl.UInt32)).to_series()
    placed = points.with_row_index("point").join(tracks, on=track, how="inner", nulls_equal=True)
    starts = nested.select("track_id", pl.col("start_ns").alias("time_ns"), "row")
    latest = (
        placed.drop_nulls("time_ns")
        .sort("time_ns")
        .join_asof(starts, on="time_ns", by="track_id", strategy="backward", check_sortedness=False)
    )
    none = pl.repeat(None, points.height, dtype=pl.UInt32, eager=True)
    return none.scatter(latest["point"], latest["row"])


@once_per_trace
def nested_ops(trace: Trace) -> pl.DataFrame:
    """Operators, Python frames and modules of the timed pass, nested, `name` and `category` as categories; `place` is
    the position of each in the table of ops, null for modules that are recorded elsewhere (module_spans.py)."""
    pass_id = timed_pass(trace)
    ops = trace.table("ops").select(pl.int_range(pl.len()).alias("place"), *_OP)
    of_pass = ops.filter(pl.col("pass_id") == pass_id)
    modules = added_spans(trace, pass_id).with_columns(category=pl.lit("module"))
    # Modules come first: an operator that takes as long lies inside.
    spans = pl.concat([modules, of_pass], how="diagonal") if modules.height else of_pass
    return nest(by_category(spans))


def by_category(spans: pl.DataFrame) -> pl.DataFrame:
    """The spans with their names as categories: there are few, and all that looks at them is several times as fast."""
    return spans.with_columns(pl.col("name", "category").cast(pl.Categorical))


def with_launch(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """GPU work with when and where the host launched it: launch_ns, launch_end_ns and launch_tid, null where no
    call carries its correlation id."""
    calls = _calls(trace)
    if not telling(["pass_id", "rank"], work, calls):
        return with_calls(work, calls.select(*CALL_KEY, *_LAUNCH))
    return work.join(firsts(calls, CALL), on=CALL, how="left", nulls_equal=True, maintain_order="left")


@once_per_trace
def _calls(trace: Trace) -> pl.DataFrame:
    """The calls that may have launched something, the last to begin first."""
    return (
        trace.table("api_calls")
        .drop_nulls(["correlation_id", "start_ns"])
        .select(*CALL, **_LAUNCH)
        .sort("launch_ns", descending=True)
    )
