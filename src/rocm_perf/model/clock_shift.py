"""Moving the times of a table from one clock to another."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl

from rocm_perf.model.tables import SCHEMAS

_PPM = 1e-6


class ClockShift(msgspec.Struct, frozen=True):
    """What is added to a time: `offset_ns`, and `drift_ppm` nanoseconds for each millisecond after `origin_ns`."""

    offset_ns: float = 0.0
    drift_ppm: float = 0.0
    origin_ns: int = 0

    def at(self, time: pl.Expr) -> pl.Expr:
        """The time on the other clock, in whole nanoseconds. The sum is made of integers: dates do not fit a float."""
        since = (time - self.origin_ns).cast(pl.Float64)
        added = (self.drift_ppm * _PPM * since).round().cast(pl.Int64) + round(self.offset_ns)
        return time + added

    def moved(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """The table with all its times on the other clock."""
        return frame.with_columns(self.at(pl.col(name)).alias(name) for name in time_columns(table))


UNMOVED = ClockShift()


def moved_by_node(
    table: str, frame: pl.DataFrame, shifts: Mapping[int, ClockShift], rows: pl.Series | None = None
) -> pl.DataFrame:
    """The table with the times of each node moved by its shift, in some `rows` or in all."""
    node = pl.col("node")

    def of_node(values: dict[int, int | float], dtype: type[pl.DataType]) -> pl.Expr:
        return node.replace_strict(values, default=0, return_dtype=dtype)

    offset = of_node({n: round(shift.offset_ns) for n, shift in shifts.items()}, pl.Int64)
    drift = of_node({n: _PPM * shift.drift_ppm for n, shift in shifts.items()}, pl.Float64)
    origin = of_node({n: shift.origin_ns for n, shift in shifts.items()}, pl.Int64)
    chosen = pl.lit(True) if rows is None else rows
    return frame.with_columns(
        pl.when(chosen)
        .then(pl.col(name) + offset + (drift * (pl.col(name) - origin)).round().cast(pl.Int64))
        .otherwise(name)
        .alias(name)
        for name in time_columns(table)
    )


def time_columns(table: str) -> tuple[str, ...]:
    """The columns of a table that hold times on the clock of its process."""
    return tuple(
        column.name for column in SCHEMAS[table].columns if column.unit == "ns" and column.dtype is pl.Int64
    )
