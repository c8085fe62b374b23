"""The only interval arithmetic of the package. Overlap is counted once, whatever overlaps."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def union_ns(intervals: pl.DataFrame | pl.LazyFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Time covered by at least one interval, and first start and last end, for each group.

    Takes columns start_ns and end_ns; rows with a null or a negative length do not count. In order of
    start, an interval adds what reaches beyond everything before it.
    """
    usable = intervals.lazy().filter(
        pl.col("start_ns").is_not_null() & (pl.col("end_ns") >= pl.col("start_ns"))
    )
    ordered = usable.select(*by, "start_ns", "end_ns").sort("start_ns")
    reach = pl.col("end_ns").cum_max().shift(1)
    gain = (pl.col("end_ns") - pl.max_horizontal("start_ns", reach)).clip(lower_bound=0)
    sums = (
        gain.sum().alias("union_ns"),
        pl.col("start_ns").min().alias("first_ns"),
        pl.col("end_ns").max().alias("last_ns"),
        pl.len().cast(pl.Int64).alias("count"),
    )
    grouped = ordered.group_by(by, maintain_order=True).agg(sums) if by else ordered.select(sums)
    return grouped.collect()


def total_union_ns(intervals: pl.DataFrame) -> int:
    """Time covered by at least one interval."""
    return int(union_ns(intervals)["union_ns"].item() or 0) if intervals.height else 0
