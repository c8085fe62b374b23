"""A level over time, thinned to as many points as a chart can show."""

from __future__ import annotations

import polars as pl

POINTS = 400


def highest(
    levels: pl.DataFrame, first_ns: int, last_ns: int, points: int = POINTS
) -> tuple[float, tuple[int, ...]]:
    """The length of a step and the highest level in each: what it begins with, and what it rises to.

    Takes time_ns, in order, and level, which holds until the next; before the first it is 0.
    """
    window = last_ns - first_ns
    step = max(window / points, 1.0)
    count = max(1, min(points, round(window / step)))
    slot = ((pl.col("time_ns") - first_ns) / step).floor().cast(pl.Int64).clip(0, count - 1).alias("slot")
    peaks = (
        levels.with_columns(slot)
        .group_by("slot")
        .agg(pl.col("level").max(), pl.col("level").last().alias("end"), pl.col("time_ns").min())
    )
    slots = pl.DataFrame({"slot": range(count)}, schema={"slot": pl.Int64})
    frame = slots.join(peaks, on="slot", how="left", maintain_order="left")
    changes_at_once = pl.col("time_ns") <= first_ns + pl.col("slot") * step
    entering = pl.when(~changes_at_once.fill_null(False)).then(pl.col("end").forward_fill().shift(1))
    level = frame.select(pl.max_horizontal(entering, "level").fill_null(0).alias("level"))["level"]
    return step, tuple(level.to_list())
