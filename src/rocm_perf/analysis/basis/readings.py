"""Rows of `samples`, of which each is one reading or several that were thinned to one."""

from __future__ import annotations

import polars as pl

LOWEST = pl.coalesce("lowest", "value")
HIGHEST = pl.coalesce("highest", "value")
READINGS = pl.col("readings").clip(1).fill_null(1)
MEAN = (pl.col("value") * READINGS).sum() / READINGS.filter(pl.col("value").is_not_null()).sum()
IS_THINNED = pl.col("start_ns").is_not_null() & pl.col("end_ns").is_not_null()
