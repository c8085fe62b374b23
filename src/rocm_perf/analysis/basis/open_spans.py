"""Which of some spans that follow one another was open at a moment: the step in which something was launched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from rocm_perf.analysis.basis.keys import telling


def open_at(
    rows: pl.DataFrame, spans: pl.DataFrame, moment: pl.Series, track: Sequence[str], column: str
) -> pl.Series:
    """For each row the `column` of the span that was open at its moment, null where none was. Row and span are on one
    track: they have the same in these columns, where null is a value. Of spans that overlap, the last to begin counts
    while it is open."""
    keys = telling(track, rows, spans)
    begun = spans.sort("start_ns", maintain_order=True)
    if not keys and not moment.null_count():
        return _open_at(begun, moment, column)
    known = pl.col(keys).fill_null(-1)
    opened = begun.select(known, column, at="start_ns", closed="end_ns")
    points = rows.select(known, moment.alias("at")).with_row_index("place").sort("at")
    latest = points.join_asof(opened, on="at", by=keys or None, check_sortedness=False).sort("place")
    return latest.select(pl.when(pl.col("at") < pl.col("closed")).then(column).alias(column)).to_series()


def _open_at(begun: pl.DataFrame, moment: pl.Series, column: str) -> pl.Series:
    """The same of spans on one track, in the order in which they begin."""
    number = np.searchsorted(begun["start_ns"].to_numpy(), moment.to_numpy(), "right") - 1
    latest = pl.Series(number).replace(-1, None)
    is_open = moment < begun["end_ns"].gather(latest)
    return pl.select(pl.when(is_open).then(begun[column].gather(latest)).alias(column)).to_series()
