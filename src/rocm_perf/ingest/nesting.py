"""How deep a range is nested in others of its thread."""

from __future__ import annotations

import polars as pl

_TRACK = ["node", "pass_id", "pid", "tid", "on_gpu", "agent_id", "stream_id"]


def with_depth(ranges: pl.DataFrame) -> pl.DataFrame:
    """Ranges with their depth: how many of the track were open when each began. 0 is outermost.

    That is those opened before it, less those closed by then; both counts come from sorted columns, so a million
    ranges cost one sort. Rows keep their order; a range without times keeps its null.
    """
    numbered = ranges.with_row_index("row")
    tracks = numbered.drop_nulls(["start_ns", "end_ns"]).partition_by(_TRACK)
    if not tracks:
        return ranges
    depths = pl.concat([_depth_of_track(track) for track in tracks])
    placed = numbered.drop("depth").join(depths, on="row", how="left", maintain_order="left")
    return placed.select(ranges.columns)


def _depth_of_track(track: pl.DataFrame) -> pl.DataFrame:
    ordered = track.sort(["start_ns", "end_ns"], descending=[False, True], maintain_order=True)
    ends = ordered["end_ns"].sort()
    closed = ends.search_sorted(ordered["start_ns"], side="right")
    # A mark ends when it begins: marks at one time do not open anything.
    instant = (ordered["start_ns"] == ordered["end_ns"]).cast(pl.Int64)
    opened = pl.int_range(ordered.height, eager=True)
    earlier_marks = _marks_not_before(ordered, instant)
    depth = (opened - closed.cast(pl.Int64) + earlier_marks).clip(lower_bound=0)
    return pl.DataFrame({"row": ordered["row"], "depth": depth})


def _marks_not_before(ordered: pl.DataFrame, instant: pl.Series) -> pl.Series:
    """Marks at a range's own start that were counted as closed and not yet as opened."""
    frame = pl.DataFrame({"start_ns": ordered["start_ns"], "instant": instant})
    return frame.select(
        pl.col("instant").sum().over("start_ns")
        - (pl.col("instant").cum_sum().over("start_ns") - pl.col("instant"))
    ).to_series()
