"""Columns that tell rows apart. Most recordings are of one process on one GPU: what has one value throughout costs time
in a join, a sort or a group, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[Any]


def telling(by: Sequence[str], *frames: pl.DataFrame) -> list[str]:
    """The columns of `by` that have more than one value in all of the frames together; null is a value."""
    filled = [frame for frame in frames if frame.height]
    return [name for name in by if not _is_one_value([frame[name] for frame in filled])]


def _is_one_value(columns: Sequence[pl.Series]) -> bool:
    """Whether all columns, none of them empty, have the same value throughout."""
    values = {column[0] for column in columns}
    if len(values) > 1:
        return False
    unknown = sum(column.null_count() for column in columns)
    if values == {None}:
        return unknown == sum(column.len() for column in columns)
    return not unknown and all(column.min() == column.max() for column in columns)


def as_one(keys: Sequence[str]) -> pl.Expr:
    """The keys as one value."""
    return pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)


def over(expression: pl.Expr, keys: Sequence[str]) -> pl.Expr:
    """The expression within each group of equal keys; over all rows where there is no key."""
    return expression.over(keys) if keys else expression


def grouped(rows: pl.DataFrame, by: Sequence[str], *aggregates: pl.Expr) -> pl.DataFrame:
    """The aggregates of each group, groups in the order in which they begin; of all rows where `by` is empty."""
    if not by:
        return rows.select(aggregates)
    keys = telling(by, rows)
    same = pl.col([name for name in by if name not in keys]).first()
    if not keys:
        return rows.select(same, *aggregates).head(rows.height)
    return rows.group_by(keys, maintain_order=True).agg(same, *aggregates).select(*by, pl.exclude(by))


def groups(rows: pl.DataFrame, by: Sequence[str]) -> list[pl.DataFrame]:
    """The rows of each group, in the order in which groups begin."""
    keys = telling(by, rows)
    return rows.partition_by(keys) if keys else [rows] if rows.height else []


def ranks(by: Sequence[str], rows: pl.DataFrame) -> pl.Expr:
    """The number of the group of each row, groups in the order of their values, from 0 on."""
    keys = telling(by, rows)
    return pl.struct(keys).rank("dense").cast(pl.Int64) - 1 if keys else pl.lit(0, pl.Int64)


def numbers(by: Sequence[str], rows: pl.DataFrame) -> pl.Series:
    """The number of the group of each row, groups in the order in which they begin, from 0 on."""
    distinct = rows.select(by).unique(maintain_order=True).with_row_index("number")
    return rows.select(by).join(distinct, on=by, how="left", nulls_equal=True, maintain_order="left")[
        "number"
    ]


def named(names: pl.Series, condition: pl.Expr) -> pl.Series:
    """Whether the condition, on a column `name`, holds for each of the names: distinct ones are asked once."""
    distinct = names.unique()
    holds = distinct.cast(pl.String).alias("name").to_frame().select(condition).to_series()
    return names.is_in(distinct.filter(holds).implode())


def joined(rows: pl.DataFrame, key: str, text: str, separator: str) -> pl.DataFrame:
    """The texts of each group in their order as one (columns key and text). Most groups have a single one, and
    joining takes its time."""
    several = rows[key].is_duplicated()
    groups = rows.filter(several).group_by(key, maintain_order=True).agg(pl.col(text).str.join(separator))
    return pl.concat([rows.filter(~several).select(key, text), groups])


def ordered(
    rows: pl.DataFrame, by: Sequence[str], *, falling: Sequence[str] = (), nulls_last: Sequence[str] = ()
) -> pl.DataFrame:
    """The rows in the order of the columns, equal ones as they were. Nothing is sorted where the first column that
    tells rows apart rises from each to the next: recordings are mostly written in the order of time."""
    keys = telling(by, rows)
    if not keys or (keys[0] not in falling and _rises(rows[keys[0]])):
        return rows
    if all(rows[key].dtype.is_integer() and not rows[key].null_count() for key in keys):
        return rows[_order([_ascending(rows[key], key in falling) for key in keys])]
    return rows.sort(
        keys,
        descending=[key in falling for key in keys],
        nulls_last=[key in nulls_last for key in keys],
        maintain_order=True,
    )


def _ascending(values: pl.Series, is_falling: bool) -> Numbers:
    """The numbers, such that those that come first are the smallest."""
    numbers = values.to_numpy()
    return (
        ~numbers if is_falling else numbers
    )  # of integers with and without a sign, the largest becomes the smallest


def _order(keys: Sequence[Numbers]) -> Numbers:
    """The places of the rows in the order of their keys. They are mostly in the order of the first one, which numpy's
    sort makes use of; the others are looked at only where that is equal."""
    order = np.argsort(keys[0], kind="stable")
    first = keys[0][order]
    same = first[1:] == first[:-1]
    if len(keys) > 1 and same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        places = order[tied]
        order[tied] = places[np.lexsort([key[places] for key in reversed(keys)])]
    return order


def _rises(values: pl.Series) -> bool:
    if values.len() < 2 or values.null_count():
        return values.len() < 2
    if values.dtype.is_integer():
        numbers = values.to_numpy()
        return bool((numbers[1:] > numbers[:-1]).all())
    return bool((values > values.shift(1)).slice(1).all())


def all_differ(values: pl.Series) -> bool:
    """Whether no value comes twice: certain where they rise, as ids and times mostly do."""
    return _rises(values) or values.n_unique() == values.len()


def sorted_by(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The rows in the order of the keys, equal ones as they were. One sort for each key, the last one first: sorting by
    several at once has to encode them, and takes several times as long."""
    for key in reversed(keys):
        rows = rows.sort(key, maintain_order=True)
    return rows


def alone(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The rows that are the only one of their group."""
    keys = telling(by, rows)
    if not keys:
        return rows if rows.height == 1 else rows.clear()
    if len(keys) == 1 and all_differ(rows[keys[0]]):
        return rows
    return rows.filter(~as_one(keys).is_duplicated())


def firsts(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The first row of each group, in the order of the rows."""
    return rows.filter(is_first(rows, by)) if telling(by, rows) else rows.head(1)


def is_first(rows: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """Whether each row is the first of its group: all are where a column rises from each to the next, as ids do."""
    keys = telling(by, rows)
    if any(_rises(rows[key]) for key in keys):
        return pl.repeat(True, rows.height, eager=True)
    if not keys:
        return pl.int_range(rows.height, eager=True) == 0
    return rows.select(as_one(keys).is_first_distinct()).to_series()
