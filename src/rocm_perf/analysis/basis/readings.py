"""Rows of `samples`, of which each is one reading or several that were thinned to one."""

from __future__ import annotations

import polars as pl

LOWEST = pl.coalesce("lowest", "value")
HIGHEST = pl.coalesce("highest", "value")
READINGS = pl.col("readings").clip(1).fill_null(1)
MEAN = (pl.col("value") * READINGS).sum() / READINGS.filter(pl.col("value").is_not_null()).sum()
IS_THINNED = pl.col("start_ns").is_not_null() & pl.col("end_ns").is_not_null()


def points(rows: pl.DataFrame) -> pl.DataFrame:
    """The readings as points of a line. A thinned row becomes two, its mean at its start and at its end, which is where
    the next one begins; `opens` is false for the second."""
    start = pl.when(IS_THINNED).then("start_ns").otherwise("time_ns")
    return pl.concat(
        (
            rows.filter(IS_THINNED).with_columns(time_ns="end_ns", opens=pl.lit(False)),
            rows.with_columns(time_ns=start, opens=pl.lit(True)),
        )
    )
