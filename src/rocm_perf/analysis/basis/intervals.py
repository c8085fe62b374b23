"""The only interval arithmetic of the package. Overlap is counted once, whatever overlaps.

Intervals are rows with start_ns and end_ns; those with a null or a negative length do not count. `by` names the columns
that tell groups apart, and null is a group like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rocm_perf.analysis.basis.keys import grouped, ordered, over, telling

Frame = pl.DataFrame | pl.LazyFrame

_USABLE = pl.col("start_ns").is_not_null() & (pl.col("end_ns") >= pl.col("start_ns"))


def union_ns(intervals: Frame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Time covered by at least one interval, and first start and last end, for each group.

    In order of start, an interval adds what reaches beyond everything before it.
    """
    usable = intervals.lazy().filter(_USABLE).select(*by, "start_ns", "end_ns").collect()
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
    parts = disjoint(cover.select(*by, "start_ns", "end_ns"), by).with_columns(pl.lit("any").alias("kind"))
    return overlaps_ns(intervals, parts, by, ["any"])["any"].alias("overlap_ns")


def overlaps_ns(
    intervals: pl.DataFrame, parts: pl.DataFrame, by: Sequence[str], kinds: Sequence[str]
) -> pl.DataFrame:
    """For each interval, how much of it the parts of each kind (column kind) cover; parts of a group are disjoint.

    That is the covered time before its end, less that before its start.
    """
    if not intervals.height or not parts.height:
        return pl.DataFrame({kind: pl.zeros(intervals.height, pl.Int64, eager=True) for kind in kinds})
    axis = _Axis(parts, telling(by, parts, intervals))
    pieces = axis.placed(parts).with_columns(parts["kind"].cast(pl.Enum(kinds), strict=False)).sort("start")
    sums = _covered_so_far(pieces, kinds)
    first, last = (_covered_before(sums, places, kinds) for places in axis.placed(intervals))
    return pl.DataFrame([(last[kind] - first[kind]).fill_null(0) for kind in kinds])


def count_between(intervals: pl.DataFrame, events: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """For each interval, how many events of its group (column start_ns) lie in it, its start excluded."""
    known = events.drop_nulls("start_ns").select(*by, "start_ns", pl.col("start_ns").alias("end_ns"))
    if not intervals.height or not known.height:
        return pl.zeros(intervals.height, pl.Int64, eager=True).alias("count")
    axis = _Axis(known, telling(by, known, intervals))
    times = axis.placed(known)["start"].sort()
    first, last = (_ranks(times, places) for places in axis.placed(intervals))
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
        groups = grouped(rows, by, low, high)
        room = pl.col("high") - pl.col("low") + 3
        self.groups = groups.with_columns((room.cum_sum() - room).alias("base"))

    def placed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Where each start and end lies; one outside of its group's range lies next to it, one of no known group
        nowhere."""
        times = rows.select(*self.by, "start_ns", "end_ns")
        if self.by:
            joined = times.join(self.groups, on=self.by, how="left", nulls_equal=True, maintain_order="left")
        else:
            joined = times.join(self.groups, how="cross", maintain_order="left")
        return joined.select(start=_place("start_ns"), end=_place("end_ns"))


def _place(time: str) -> pl.Expr:
    inside = pl.col(time).clip(pl.col("low") - 1, pl.col("high") + 1)
    return pl.col("base") + inside - pl.col("low") + 1


def _ranks(ordered: pl.Series, places: pl.Series) -> pl.Series:
    """How many of the ordered numbers are not above each place; null for null. Places that are in order, too, as those
    of most recordings are, are found in one pass over both."""
    if not places.is_sorted() or places.null_count():
        ranks = ordered.search_sorted(places.fill_null(0), "right").cast(pl.Int64)
        return pl.select(pl.when(places.is_not_null()).then(ranks)).to_series()
    known = pl.DataFrame({"place": ordered, "rank": pl.int_range(1, ordered.len() + 1, eager=True)})
    wanted = places.alias("place").to_frame()
    return wanted.join_asof(known, on="place", check_sortedness=False)["rank"].fill_null(0)


def _covered_so_far(pieces: pl.DataFrame, kinds: Sequence[str]) -> pl.DataFrame:
    """The disjoint pieces in their order, each with the length of each kind up to its end."""
    length = pl.col("end") - pl.col("start")
    return pieces.with_columns(
        pl.when(pl.col("kind") == kind).then(length).otherwise(0).cum_sum().alias(f"sum {kind}")
        for kind in kinds
    )


def _covered_before(sums: pl.DataFrame, places: pl.Series, kinds: Sequence[str]) -> pl.DataFrame:
    """Length of the pieces of each kind before each place; null for null."""
    begun = _ranks(sums["start"], places)
    last: pl.DataFrame = sums[(begun.fill_null(0) - 1).clip(lower_bound=0)]
    last = last.with_columns(begun.alias("begun"), places.alias("at"))
    # What of the last piece lies beyond the place.
    beyond = (pl.col("end") - pl.col("at")).clip(lower_bound=0)
    return last.select(
        pl.when(pl.col("begun") > 0)
        .then(pl.col(f"sum {kind}") - pl.when(pl.col("kind") == kind).then(beyond).otherwise(0))
        .otherwise("begun")
        .alias(kind)
        for kind in kinds
    )
