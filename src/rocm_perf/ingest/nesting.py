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
    tracks = ranges.select(_TRACK).unique().with_row_index("track")
    ordered = (
        numbered.drop_nulls(["start_ns", "end_ns"])
        .join(tracks, on=_TRACK, nulls_equal=True, maintain_order="left")
        .select("row", "track", "start_ns", "end_ns")
        .sort(["track", "start_ns", "end_ns"], descending=[False, False, True], maintain_order=True)
    )
    opened = pl.int_range(pl.len(), dtype=pl.Int64).over("track")
    depth = opened - _closed(ordered) + _marks_not_before()
    depths = ordered.select("row", depth.clip(lower_bound=0).alias("depth"))
    placed = numbered.drop("depth").join(depths, on="row", how="left", maintain_order="left")
    return placed.select(ranges.columns)


def _closed(ordered: pl.DataFrame) -> pl.Series:
    """How many ranges of its track had ended when each began."""
    count = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("track").alias("closed")
    ends = ordered.select("track", "end_ns").sort("track", "end_ns").with_columns(count)
    ended = ordered.join_asof(
        ends, left_on="start_ns", right_on="end_ns", by="track", strategy="backward", check_sortedness=False
    )
    return ended["closed"].fill_null(0)


def _marks_not_before() -> pl.Expr:
    """Marks at a range's own start that were counted as closed and not yet as opened: a mark ends as it begins, so it
    and its twins have not opened anything."""
    instant = (pl.col("start_ns") == pl.col("end_ns")).cast(pl.Int64)
    together = ["track", "start_ns"]
    return instant.sum().over(together) - (instant.cum_sum().over(together) - instant)
