"""Names that many ranks share, kept in memory once: a row then holds a reference of 16 bytes, however long the name."""

from __future__ import annotations

import polars as pl

_NAMES = {"dispatches": "kernel", "api_calls": "name", "ops": "name", "ranges": "name"}


def with_shared_names(table: str, frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The frames of one table, with the names in their largest text column taken from one pool."""
    column = _NAMES.get(table)
    if column is None or len(frames) < 2:
        return frames
    pool = pl.concat(frame[column].unique() for frame in frames).drop_nulls().unique(maintain_order=True)
    numbers = pl.Enum(pool)
    return [frame.with_columns(_from_pool(frame[column], pool, numbers)) for frame in frames]


def _from_pool(names: pl.Series, pool: pl.Series, numbers: pl.Enum) -> pl.Series:
    return pool.gather(names.cast(numbers).to_physical()).alias(names.name)
