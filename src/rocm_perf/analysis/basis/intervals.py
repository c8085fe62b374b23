"""The only interval arithmetic of the package. Overlap is counted once, whatever overlaps.

Intervals are rows with start_ns and end_ns; those with a null or a negative length do not count. `by` names the columns
that tell groups apart, and null is a group like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from rocm_perf.analysis.basis.keys import grouped, ordered, over, telling

Frame = pl.DataFrame | pl.LazyFrame
Numbers = npt.NDArray[np.int64]

_FEW = 1 << 17  # below, a query costs more than a search for each

_USABLE = pl.col("start_ns").is_not_null() & (pl.col("end_ns") >= pl.col("start_ns"))


def union_ns(intervals: Frame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Time covered by at least one interval, and first start and last end, for each group.

    In order of start, an interval adds what reaches beyond everything before it.
    """
    usable = intervals.lazy().filter(_USABLE).select(*by, "start_ns", "end_ns").collect()
    if usable.height and not telling(by, usable):
        covered = int(_Pieces.of(usable["start_ns"], usable["end_ns"]).lengths[-1])
        ends = usable.select(
            pl.lit(covered, pl.Int64).alias("union_ns"),
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            pl.len(),
        )
        names = {"start_ns": "first_ns", "end_ns": "last_ns", "len": "count"}
        return pl.concat([usable.select(by).head(1), ends.rename(names)], how="horizontal").cast(
            {"count": pl.Int64}
        )
    reach = pl.col("end_ns").cum_max().shift(1)
    gain = (pl.col("end_ns") - pl.max_horizontal("start_ns", reach)).clip(lower_bound=0)
    return grouped(
        ordered(usable, ["start_ns"]),
        by,
        gain.sum().alias("union_ns"),
        pl.col("start_ns").min().alias("first_ns"),
        pl.col("end_ns").max().alias("last_ns"),
        pl.len().cast(pl.Int64).alias("count"),
    )


def total_union_ns(intervals: pl.DataFrame) -> int:
    """Time covered by at least one interval."""
    return int(union_ns(intervals)["union_ns"].item() or 0) if intervals.height else 0


def holes(
    intervals: pl.DataFrame, by: Sequence[str], then: Sequence[str] = (), before: Sequence[str] = ()
) -> pl.DataFrame:
    """Each interval that begins after everything before it has ended, with `since_ns`, when that was.

    The hole is [since_ns, start_ns]. `then` orders intervals that start together; the first of them ends the hole.
    `before` names columns whose value in the interval before is added as before_NAME.
    """
    previous = [pl.col(name).shift(1).alias(f"before_{name}") for name in before]
    added = [_reach().alias("since_ns"), *previous]
    keys = telling(by, intervals)
    rows = ordered(intervals.filter(_USABLE), [*keys, "start_ns", *then], nulls_last=then)
    spans = rows.with_columns(over(expression, keys) for expression in added)
    return spans.filter(pl.col("start_ns") > pl.col("since_ns"))


def disjoint(intervals: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The outermost intervals: what lies within an earlier one goes, what sticks out of it is cut to that part."""
    keys = telling(by, intervals)
    rows = ordered(intervals.filter(_USABLE), [*keys, "start_ns", "end_ns"], falling=["end_ns"])
    cut = pl.max_horizontal("start_ns", over(_reach(), keys)).alias("start_ns")
    return rows.with_columns(cut).filter(pl.col("end_ns") > pl.col("start_ns"))


def overlap_ns(intervals: pl.DataFrame, cover: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """For each interval, how much of it at least one interval of `cover` in its group covers."""
    if not intervals.height or not cover.height:
        return pl.zeros(intervals.height, pl.Int64, eager=True).alias("overlap_ns")
    keys = telling(by, cover, intervals)
    usable = cover.select(*keys, "start_ns", "end_ns").filter(_USABLE)
    axis = _Axis(usable, keys)
    starts, ends = axis.places(usable)
    return _Pieces.of(starts, ends).inside(*axis.places(intervals)).alias("overlap_ns")


def overlaps_ns(
    intervals: pl.DataFrame, parts: pl.DataFrame, by: Sequence[str], kinds: Sequence[str]
) -> pl.DataFrame:
    """For each interval, how much of it the parts of each kind (column kind) cover; parts of a group are disjoint."""
    if not intervals.height or not parts.height:
        return pl.DataFrame({kind: pl.zeros(intervals.height, pl.Int64, eager=True) for kind in kinds})
    axis = _Axis(parts, telling(by, parts, intervals))
    starts, ends = axis.places(parts)
    first, last = axis.places(intervals)
    covered = (
        _Pieces.of(starts.filter(own), ends.filter(own)).inside(first, last).alias(kind)
        for kind in kinds
        for own in [(parts["kind"] == kind).fill_null(False)]
    )
    return pl.DataFrame(list(covered))


def count_between(intervals: pl.DataFrame, events: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """For each interval, how many events of its group (column start_ns) lie in it, its start excluded."""
    known = events.drop_nulls("start_ns").select(*by, "start_ns", pl.col("start_ns").alias("end_ns"))
    if not intervals.height or not known.height:
        return pl.zeros(intervals.height, pl.Int64, eager=True).alias("count")
    axis = _Axis(known, telling(by, known, intervals))
    times = axis.places(known)[0].sort()
    first, last = (_ranks(times, places) for places in axis.places(intervals))
    counts: pl.Series = last - first
    return counts.fill_null(0).alias("count")


def _reach() -> pl.Expr:
    """The latest end of everything before, in frames in order of start."""
    return pl.col("end_ns").cum_max().shift(1)


class _Axis:
    """One axis of integers on which groups lie one after another, so that a single sorted column serves them all."""

    def __init__(self, rows: pl.DataFrame, by: Sequence[str]) -> None:
        self.by = list(by)
        low, high = pl.col("start_ns").min().alias("low"), pl.col("end_ns").max().alias("high")
        room = pl.col("high") - pl.col("low") + 3
        base = (room.cum_sum() - room).alias("base")
        self.groups = grouped(rows, by, low, high).with_columns(base) if by else None

    def places(self, rows: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Where each start and end lies: at its time where there is one group. Of several, one outside of its group's
        range lies next to it, one of no known group nowhere."""
        if self.groups is None:
            return rows["start_ns"], rows["end_ns"]
        times = rows.select(*self.by, "start_ns", "end_ns")
        joined = times.join(self.groups, on=self.by, how="left", nulls_equal=True, maintain_order="left")
        start, end = joined.select(start=_place("start_ns"), end=_place("end_ns"))
        return start, end


def _place(time: str) -> pl.Expr:
    inside = pl.col(time).clip(pl.col("low") - 1, pl.col("high") + 1)
    return pl.col("base") + inside - pl.col("low") + 1


def _ranks(ordered: pl.Series, places: pl.Series) -> pl.Series:
    """How many of the ordered numbers are not above each place; null for null. Many places that are in order, too, as
    those of most recordings are, are found in one pass over both."""
    if places.null_count():
        ranks = _ranks(ordered, places.fill_null(0))
        return pl.select(pl.when(places.is_not_null()).then(ranks)).to_series()
    if places.len() < _FEW or not places.is_sorted():
        return pl.Series("rank", np.searchsorted(ordered.to_numpy(), places.to_numpy(), "right"))
    known = pl.DataFrame({"place": ordered, "rank": pl.int_range(1, ordered.len() + 1, eager=True)})
    wanted = places.alias("place").to_frame()
    return wanted.join_asof(known, on="place", check_sortedness=False)["rank"].fill_null(0)


class _Pieces(msgspec.Struct, frozen=True):
    """Disjoint pieces of an axis in their order: `ends` and the length of all up to each, both with one more in front
    for what lies before the first piece."""

    starts: pl.Series
    ends: Numbers
    lengths: Numbers

    @staticmethod
    def of(starts: pl.Series, ends: pl.Series) -> _Pieces:
        """What the stretches from these starts to these ends cover together: in order of start, each adds what
        reaches beyond everything before it."""
        begin, end = starts.to_numpy(), ends.to_numpy()
        if not starts.is_sorted():  # a recording is mostly in order
            order = np.argsort(begin, kind="stable")
            begin, end = begin[order], end[order]
        end = np.maximum.accumulate(end)
        begin = np.concatenate([begin[:1], np.maximum(begin[1:], end[:-1])])
        return _Pieces(
            starts=pl.Series(begin),
            ends=np.concatenate([begin[:1], end]),
            lengths=np.concatenate([[0], np.cumsum(end - begin)]),
        )

    def inside(self, first: pl.Series, last: pl.Series) -> pl.Series:
        """The length of the pieces between two places, that before the last less that before the first; 0 where one is
        null."""
        if first.null_count() or last.null_count():
            known = first.is_not_null() & last.is_not_null()
            between = self.inside(first.fill_null(0), last.fill_null(0))
            return pl.select(pl.when(known).then(between).otherwise(0)).to_series()
        return pl.Series(self._before(last) - self._before(first))

    def _before(self, places: pl.Series) -> Numbers:
        """The length of the pieces before each place."""
        begun = _ranks(self.starts, places).to_numpy()
        if not self.starts.len():
            return begun
        # What of the last piece lies beyond the place.
        beyond = np.maximum(self.ends[begun] - places.to_numpy(), 0)
        before: Numbers = self.lengths[begun] - np.where(begun > 0, beyond, 0)
        return before
