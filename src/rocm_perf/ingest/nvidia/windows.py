"""The parts of a recording in which a window was open. The tracer writes a little more than was asked for, because
work that was launched in a window runs on after it; what does not belong to it is left out here."""

from __future__ import annotations

import polars as pl

_FOR_EVER = 2**62


def within(
    changes: pl.DataFrame, tables: dict[str, pl.DataFrame], *, launched: tuple[str, ...], calls: str
) -> dict[str, pl.DataFrame]:
    """The tables without what began outside of every window; GPU work counts by its call, where that was recorded.

    `changes` says when the window opened and closed; without a change everything is kept.
    """
    if changes.is_empty():
        return tables
    windows = _windows(changes)
    kept = {
        name: _begun_in(windows, table) if "start_ns" in table.columns and name not in launched else table
        for name, table in tables.items()
    }
    for name in launched:
        of_call = tables[name].join(kept[calls], on="correlation_id", how="semi")
        without_call = tables[name].join(tables[calls], on="correlation_id", how="anti")
        kept[name] = pl.concat([of_call, _begun_in(windows, without_call)]).sort(
            "start_ns", maintain_order=True
        )
    return kept


def _windows(changes: pl.DataFrame) -> pl.DataFrame:
    """One row per window; the last one may still be open."""
    following = pl.col("start_ns").shift(-1, fill_value=_FOR_EVER)
    return (
        changes.sort("start_ns", maintain_order=True)
        .with_columns(following.alias("closed_ns"))
        .filter(pl.col("is_open") != 0)
        .select(pl.col("start_ns").alias("opened_ns"), "closed_ns")
    )


def _begun_in(windows: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    timed = table.with_row_index("row").sort("start_ns")
    placed = timed.join_asof(windows, left_on="start_ns", right_on="opened_ns", strategy="backward")
    inside = placed.filter(pl.col("start_ns") < pl.col("closed_ns")).sort("row")
    return inside.select(table.columns)
