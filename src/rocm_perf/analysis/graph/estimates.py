"""Usual delays of a runtime and a GPU, as the recording itself shows them where one cause alone can explain a start."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.results.path import Estimate

_HOW = {
    "launch latency": "median from the end of the launching call to the start, where the GPU was idle by then",
    "queue gap": "median between items of a stream, where the later one had been launched in time",
    "graph gap": "median between items of one graph launch",
    "return": "median from the end of the work to the return of the call that waited for it",
    "own time": "median of calls that had nothing to wait for",
}


def usual(samples: pl.DataFrame, name: str, by: str) -> tuple[pl.DataFrame, list[Estimate]]:
    """The median of `value` in each group `by`, as a table and as estimates."""
    table = (
        samples.drop_nulls(by)
        .group_by(by)
        .agg(
            pl.col("value").median().clip(lower_bound=0).cast(pl.Int64).alias("usual"),
            pl.len().alias("count"),
        )
        .with_columns(pl.col(by).cast(pl.String))
        .sort(by)
    )
    estimates = [
        Estimate(name=f"{name}, {group}", value_ns=value, samples=count, how=_HOW[name])
        for group, value, count in table.select(by, "usual", "count").iter_rows()
    ]
    return table.select(by, "usual"), estimates


def with_usual(rows: pl.DataFrame, table: pl.DataFrame, by: str, column: str) -> pl.DataFrame:
    """The usual value of each row's group; zero where the recording shows none."""
    table = table.rename({"usual": column}).cast({by: rows.schema[by]})
    joined = rows.join(table, on=by, how="left", maintain_order="left")
    return joined.with_columns(pl.col(column).fill_null(0))
