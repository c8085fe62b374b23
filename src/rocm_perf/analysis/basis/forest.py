"""Rows that lie inside one another, in the order in which they begin: `parent` is the row around each, null if there is
none, and `behind` the first row after it that is not inside it. Whatever the depth, n rows cost n log n."""

from __future__ import annotations

import numpy as np
import polars as pl

_LOWEST = -(2**63)


def itself_or_around(parents: pl.Series, wanted: pl.Series) -> pl.Series:
    """For each row, itself if it is wanted, else the closest row around it that is; the steps outwards double in
    length."""
    if not wanted.any():
        return pl.repeat(None, parents.len(), dtype=pl.UInt32, eager=True)
    outside = parents.len()  # the place around everything, which leads to itself
    reached = np.arange(outside + 1, dtype=np.uint32)
    np.copyto(reached[:-1], parents.fill_null(outside).to_numpy(), where=~wanted.to_numpy())
    while not np.array_equal(further := reached.take(reached), reached):
        reached = further
    rows = pl.Series(reached[:-1])
    return pl.select(pl.when(rows < outside).then(rows)).to_series()


def nearest(parents: pl.Series, wanted: pl.Series) -> pl.Series:
    """For each row, the closest row around it that is wanted."""
    return itself_or_around(parents, wanted).gather(parents).alias("nearest")


def depths(behind: pl.Series, wanted: pl.Series) -> pl.Series:
    """For each row, how many of the wanted rows lie around it."""
    is_wanted = wanted.to_numpy()
    begun = np.cumsum(is_wanted) - is_wanted
    left = np.cumsum(np.bincount(behind.to_numpy()[is_wanted], minlength=behind.len() + 1))[:-1]
    return pl.Series("depth", begun - left)


def with_all_around(parents: pl.Series, rows: pl.Series) -> pl.Series:
    """The rows and everything around them, each once."""
    reached, latest = rows.unique(), rows.unique()
    while (latest := parents.gather(latest).drop_nulls().unique()).len():
        latest = latest.filter(~latest.is_in(reached.implode()))
        reached = pl.concat([reached, latest])
    return reached


def subtree_sums(behind: pl.Series, own: pl.Series) -> pl.Series:
    """For each row, its own value and that of everything inside it."""
    before = np.concatenate([[0], np.cumsum(own.to_numpy())])
    return pl.Series("total", before[behind.to_numpy()] - before[:-1])


def sums_at(rows: pl.Series, values: pl.Series, count: int) -> pl.Series:
    """For each of `count` rows, the sum of the values at it, 0 where there is none; a value at null counts nowhere."""
    known = rows.is_not_null()
    sums = np.zeros(count, np.int64)
    np.add.at(sums, rows.filter(known).to_numpy(), values.filter(known).to_numpy())
    return pl.Series(sums)


def subtree_max(parents: pl.Series, own: pl.Series) -> pl.Series:
    """For each row, the highest value of it and of everything inside it; null where none of them has one."""
    highest = own.fill_null(_LOWEST).to_list()
    for row, parent in zip(range(len(highest) - 1, -1, -1), reversed(parents.to_list()), strict=True):
        if parent is not None and highest[row] > highest[parent]:
            highest[parent] = highest[row]
    maxima: pl.Series = pl.Series("highest", highest, dtype=own.dtype).replace(_LOWEST, None)
    return maxima


def is_outermost(*kind: str) -> pl.Expr:
    """Whether a row lies in none of its kind: a total over a kind counts only these. The frame may hold a part of the
    rows, and needs the columns `row` and `behind`."""
    around = pl.col("behind").cum_max().shift(1).over(kind)
    return (around <= pl.col("row")).fill_null(True)


def first_reaching(parents: pl.Series, reach: pl.Series, rows: pl.Series, beyond: pl.Series) -> pl.Series:
    """From each of `rows` outwards, the first row whose `reach` lies beyond the given value; null where none does."""
    reached = rows
    for above, highest in reversed(_ladder(parents, reach, rows, beyond)):
        short = (highest.gather(reached) <= beyond).fill_null(False)
        reached = reached.zip_with(~short, above.gather(reached))
    return reached


def _ladder(
    parents: pl.Series, reach: pl.Series, rows: pl.Series, beyond: pl.Series
) -> list[tuple[pl.Series, pl.Series]]:
    """For 1, 2, 4, ... steps outwards from each row: where they lead, and the highest reach among the rows left. It
    ends where these steps are enough for all of `rows`."""
    above, highest = parents, reach
    rungs = [(above, highest)]
    while ((highest.gather(rows) <= beyond) & above.gather(rows).is_not_null()).any():
        highest = pl.select(pl.max_horizontal(highest, highest.gather(above))).to_series()
        above = above.gather(above)
        rungs.append((above, highest))
    return rungs
