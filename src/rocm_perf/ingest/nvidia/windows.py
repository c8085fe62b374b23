"""The parts of a recording in which a window was open. The tracer writes a little more than was asked for, because
work that was launched in a window runs on after it; what does not belong to it is left out here."""

from __future__ import annotations

import polars as pl

_FOR_EVER = 2**62


def recorded_windows(changes: pl.DataFrame, tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The windows as a table of the Trace. One that was never closed ends with the last of what was recorded."""
    last = max((end for table in tables.values() if (end := _last_ns(table)) is not None), default=0)
    return _windows(changes).select(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("window"),
        pl.col("opened_ns").alias("start_ns"),
        pl.when(pl.col("closed_ns") == _FOR_EVER)
        .then(pl.max_horizontal("opened_ns", pl.lit(last, pl.Int64)))
        .otherwise("closed_ns")
        .alias("end_ns"),
    )


def _last_ns(table: pl.DataFrame) -> int | None:
    return table["end_ns"].max() if "end_ns" in table.columns else None  # type: ignore[return-value]


def within(
    changes: pl.DataFrame, tables: dict[str, pl.DataFrame], *, launched: tuple[str, ...], calls: str
) -> dict[str, pl.DataFrame]:
    """The tables without what began outside of every window; GPU work counts by its call, where that was recorded.

    `changes` says when the window opened and closed; without a change everything is kept. A call that was under way
    when the window opened is not recorded, and neither is its work: ids rise from call to call.
    """
    if changes.is_empty():
        return tables
    windows = _windows(changes)
    kept = {
        name: _begun_in(windows, table) if "start_ns" in table.columns and name not in launched else table
        for name, table in tables.items()
    }
    first_ids = (
        _placed(windows, tables[calls]).group_by("opened_ns").agg(first_id=pl.col("correlation_id").min())
    )
    for name in launched:
        of_call = tables[name].join(kept[calls], on="correlation_id", how="semi")
        without_call = _placed(windows, tables[name].join(tables[calls], on="correlation_id", how="anti"))
        earlier = (pl.col("correlation_id") < pl.col("first_id")).fill_null(False)
        others = without_call.join(first_ids, on="opened_ns", how="left").filter(~earlier)
        kept[name] = pl.concat([of_call, others.select(of_call.columns)]).sort(
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
    return _placed(windows, table).select(table.columns)


def _placed(windows: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """The rows that began in a window, in their order, with when that opened and closed."""
    timed = table.with_row_index("row").sort("start_ns")
    placed = timed.join_asof(
        windows, left_on="start_ns", right_on="opened_ns", strategy="backward", coalesce=False
    )
    return placed.filter(pl.col("start_ns") < pl.col("closed_ns")).sort("row")
