"""What was open on a host thread at a given time: spans nested by time, and the launches of GPU work placed in
them. Operators, Python frames and named ranges all nest this way."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.trace import Trace

THREAD = ["node", "pass_id", "rank", "pid", "tid"]
_CALL = ["node", "pass_id", "rank", "pid", "correlation_id"]


def nest(spans: pl.DataFrame, track: list[str] = THREAD) -> pl.DataFrame:
    """The spans in order of track, start and length, with `row` (their place), `track_id` and `parent` (a row).

    The parent is the innermost span that was open on the track when this one began; spans without both times
    are left out.
    """
    timed = spans.drop_nulls(["start_ns", "end_ns"]).filter(pl.col("end_ns") >= pl.col("start_ns"))
    tracks = timed.select(track).unique(maintain_order=True).with_row_index("track_id")
    ordered = timed.join(tracks, on=track, how="left", nulls_equal=True).sort(
        ["track_id", "start_ns", "end_ns"], descending=[False, False, True], maintain_order=True
    )
    parents = _parents(*(ordered[name].to_list() for name in ("track_id", "start_ns", "end_ns")))
    return ordered.with_row_index("row").with_columns(pl.Series("parent", parents, dtype=pl.UInt32))


def _parents(tracks: list[int], starts: list[int], ends: list[int]) -> list[int | None]:
    parents: list[int | None] = []
    opened: list[int] = []
    current = None
    for row, (track, start) in enumerate(zip(tracks, starts, strict=True)):
        if track != current:
            opened.clear()
            current = track
        while opened and ends[opened[-1]] <= start:
            opened.pop()
        parents.append(opened[-1] if opened else None)
        opened.append(row)
    return parents


def nearest(parents: pl.Series, wanted: pl.Series) -> pl.Series:
    """For each row, the closest ancestor that is wanted. A parent always stands before its children."""
    found: list[int | None] = []
    flags = wanted.to_list()
    for parent in parents.to_list():
        found.append(None if parent is None else parent if flags[parent] else found[parent])
    return pl.Series("nearest", found, dtype=pl.UInt32)


def subtree_sums(parents: pl.Series, own: pl.Series) -> pl.Series:
    """For each row, its own value and that of everything below it."""
    sums = own.to_list()
    for row, parent in reversed(list(enumerate(parents.to_list()))):
        if parent is not None:
            sums[parent] += sums[row]
    return pl.Series("total", sums, dtype=own.dtype)


def is_outermost(parents: pl.Series, kinds: pl.Series) -> pl.Series:
    """Whether no ancestor is of the same kind: a total over a kind counts only these."""
    above, kind = parents.to_list(), kinds.to_list()
    outermost = []
    for row, parent in enumerate(above):
        ancestor = parent
        while ancestor is not None and kind[ancestor] != kind[row]:
            ancestor = above[ancestor]
        outermost.append(ancestor is None)
    return pl.Series("outermost", outermost, dtype=pl.Boolean)


def enclosing(nested: pl.DataFrame, points: pl.DataFrame, track: list[str] = THREAD) -> pl.Series:
    """The row of the innermost span open at each point (columns of the track, and time_ns); null where none is."""
    tracks = nested.select("track_id", *track).unique("track_id")
    placed = points.with_row_index("point").join(tracks, on=track, how="inner", nulls_equal=True)
    starts = nested.select("track_id", pl.col("start_ns").alias("time_ns"), "row").sort("time_ns")
    latest = (
        placed.drop_nulls("time_ns")
        .sort("time_ns")
        .join_asof(starts, on="time_ns", by="track_id", strategy="backward", check_sortedness=False)
        .select("point", "time_ns", "row")
    )
    open_rows = _still_open(latest, nested)
    return (
        points.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("point"))
        .join(open_rows, on="point", how="left", maintain_order="left")["row"]
        .alias("enclosing")
    )


def _still_open(latest: pl.DataFrame, nested: pl.DataFrame) -> pl.DataFrame:
    """Climb from the span that began last to the first that had not ended."""
    ends, parents = nested["end_ns"], nested["parent"]
    while True:
        closed = (ends.gather(latest["row"]) <= latest["time_ns"]).fill_null(False)
        if not closed.any():
            return latest.select("point", "row")
        above = parents.gather(latest["row"])
        latest = latest.with_columns(row=pl.when(closed).then(above).otherwise(pl.col("row")))


def with_launch(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """GPU work with when and where the host launched it: launch_ns, launch_end_ns and launch_tid, null where no
    call carries its correlation id."""
    calls = (
        trace.table("api_calls")
        .drop_nulls(["correlation_id", "start_ns"])
        .select(
            *_CALL,
            pl.col("start_ns").alias("launch_ns"),
            pl.col("end_ns").alias("launch_end_ns"),
            pl.col("tid").alias("launch_tid"),
        )
        .sort("launch_ns", descending=True)
        .unique(_CALL, keep="first", maintain_order=True)
    )
    return work.join(calls, on=_CALL, how="left", nulls_equal=True, maintain_order="left")
