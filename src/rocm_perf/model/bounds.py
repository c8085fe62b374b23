"""What a value of a table can be. A file may hold any number; one that no machine could have recorded is taken as not
recorded, so that everything behind this door can subtract times and add up columns in 64 bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import polars as pl

from rocm_perf.model.tables import SCHEMAS

LONGEST = 1 << 55  # of a span, in nanoseconds or cycles: more than a year
_MOST_SUM = 1 << 62
_SPANS = (("start_ns", "end_ns"), ("start_cycle", "end_cycle"))
_MOMENTS = {"start_ns", "end_ns", "start_cycle", "end_cycle", "time_ns", "cause_ns", "effect_ns"}


class _Bound(msgspec.Struct, frozen=True):
    """A column, or the two ends of a span, and how far its value may be from 0."""

    name: str
    columns: tuple[str, ...]  # that become null together
    value: pl.Expr
    limit: float
    required: bool = False
    is_summed: bool = True  # as an integer, which moments and real numbers are not

    @property
    def broken(self) -> pl.Expr:
        """Which rows break it."""
        return (~self.value.is_between(-self.limit, self.limit)).fill_null(False)


class _Extents(NamedTuple):
    """How many rows there are, and how far from 0 the values of each bound get: NaN where one is not a number."""

    rows: int
    values: Sequence[tuple[_Bound, float]]


def bounded(table: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """The table without values that nothing could have recorded, and in how many rows each was so.

    A row whose required value is impossible goes; otherwise the value becomes null, and both ends of a span together.
    What then adds up to more than 64 bits hold is impossible as a whole.
    """
    lost: dict[str, int] = {}
    extents = _extents(table, frame)
    for bound in _broken(extents):
        rows = int(frame.select(bound.broken.sum()).item())
        if rows:
            lost[bound.name] = rows
            frame = _without(bound, frame, bound.broken)
    for bound in _overflowing(extents, frame):
        lost[bound.name] = lost.get(bound.name, 0) + frame.height
        frame = _without(bound, frame, pl.lit(True))
    return frame, lost


def fault(table: str, frame: pl.LazyFrame) -> str | None:
    """Why nobody can reckon with the values of a table; None where all of them are possible."""
    extents = _extents(table, frame)
    for bound in (*_broken(extents), *_overflowing(extents, frame)):
        return f"nothing could have recorded its {bound.name}"
    return None


def _without(bound: _Bound, frame: pl.DataFrame, gone: pl.Expr) -> pl.DataFrame:
    if bound.required:
        return frame.filter(~gone)
    return frame.with_columns(pl.when(~gone).then(pl.col(column)).alias(column) for column in bound.columns)


def _broken(extents: _Extents) -> list[_Bound]:
    return [bound for bound, extent in extents.values if not extent <= bound.limit]


def _overflowing(extents: _Extents, frame: pl.DataFrame | pl.LazyFrame) -> list[_Bound]:
    suspects = [
        bound
        for bound, extent in extents.values
        if bound.is_summed and not min(extent, bound.limit) * extents.rows < _MOST_SUM
    ]
    sums = [bound.value.cast(pl.Float64).abs().sum().alias(bound.name) for bound in suspects]
    totals = _row(frame, sums) if sums else ()
    return [bound for bound, total in zip(suspects, totals, strict=True) if total >= _MOST_SUM]


def _extents(table: str, frame: pl.DataFrame | pl.LazyFrame) -> _Extents:
    bounds = list(_bounds(table))
    ends = [
        end.cast(pl.Float64).abs().alias(f"{side} {bound.name}")
        for bound in bounds
        for side, end in (("low", bound.value.min()), ("high", bound.value.nan_max()))
    ]
    rows, *far = (value or 0 for value in _row(frame, [pl.len(), *ends]))
    pairs = zip(far[::2], far[1::2], strict=True)
    values = [(bound, low if low > high else high) for bound, (low, high) in zip(bounds, pairs, strict=True)]
    return _Extents(int(rows), values)


def _row(frame: pl.DataFrame | pl.LazyFrame, values: Sequence[pl.Expr]) -> tuple[float, ...]:
    """The values, one each; of a table in memory without a plan, which takes longer than most tables do."""
    asked = frame.select(values)
    return (asked.collect() if isinstance(asked, pl.LazyFrame) else asked).row(0)


def _bounds(table: str) -> Iterator[_Bound]:
    """Every bound of a table: those of the columns first, then how long a span may be."""
    columns = {column.name: column for column in SCHEMAS[table].columns}
    spans = [span for span in _SPANS if set(span) <= set(columns)]
    for column in columns.values():
        if column.limit is not None:
            together = next((span for span in spans if column.name in span), (column.name,))
            is_summed = column.limit <= _MOST_SUM and column.name not in _MOMENTS
            value = pl.col(column.name)
            yield _Bound(column.name, together, value, column.limit, column.required, is_summed)
    for start, end in spans:
        length = pl.col(end).cast(pl.Float64) - pl.col(start).cast(pl.Float64)
        yield _Bound(f"{start} to {end}", (start, end), length, LONGEST)
