"""Interval unions, against a slow and obvious one."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.basis.intervals import (
    count_between,
    disjoint,
    holes,
    overlap_ns,
    overlaps_ns,
    total_union_ns,
    union_ns,
)

INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 2)), max_size=40)


def covered(intervals: list[tuple[int, int]]) -> int:
    """Counts nanoseconds one by one."""
    return len({instant for start, end in intervals for instant in range(start, end)})


def frame(rows: list[tuple[int, int, int]]) -> pl.DataFrame:
    schema = {"start_ns": pl.Int64, "length": pl.Int64, "group": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        (pl.col("start_ns") + pl.col("length")).alias("end_ns")
    )


@given(INTERVALS)
def test_union_counts_every_instant_once(rows: list[tuple[int, int, int]]) -> None:
    assert total_union_ns(frame(rows)) == covered([(start, start + length) for start, length, _ in rows])


@given(INTERVALS)
def test_union_by_group(rows: list[tuple[int, int, int]]) -> None:
    result = union_ns(frame(rows), ["group"])
    expected = {
        group: covered([(start, start + length) for start, length, g in rows if g == group])
        for group in {g for _, _, g in rows}
    }
    assert dict(result.select("group", "union_ns").iter_rows()) == expected


def test_backward_and_unknown_times_do_not_count() -> None:
    rows = pl.DataFrame(
        {"start_ns": [0, 10, None, 30], "end_ns": [5, 3, 8, None]},
        schema={"start_ns": pl.Int64, "end_ns": pl.Int64},
    )
    assert total_union_ns(rows) == 5


def instants(rows: list[tuple[int, int, int]], group: int) -> set[int]:
    return {instant for start, length, g in rows if g == group for instant in range(start, start + length)}


@given(INTERVALS)
def test_holes_are_what_the_union_leaves_out(rows: list[tuple[int, int, int]]) -> None:
    gaps = holes(frame(rows), ["group"])
    lengths = gaps.select("group", (pl.col("start_ns") - pl.col("since_ns")).alias("length"))
    assert (lengths["length"] > 0).all()
    for row in union_ns(frame(rows), ["group"]).iter_rows(named=True):
        hole = lengths.filter(pl.col("group") == row["group"])["length"].sum()
        assert hole == row["last_ns"] - row["first_ns"] - row["union_ns"]


def test_the_first_of_those_that_end_a_hole_together_is_named() -> None:
    rows = pl.DataFrame(
        {"start_ns": [0, 9, 9], "end_ns": [5, 20, 30], "order": [1, 3, 2], "name": ["a", "late", "early"]}
    )
    (row,) = holes(rows, [], ["order"]).iter_rows(named=True)
    assert (row["name"], row["since_ns"]) == ("early", 5)


@given(INTERVALS)
def test_disjoint_covers_the_same_without_overlap(rows: list[tuple[int, int, int]]) -> None:
    parts = disjoint(frame(rows), ["group"])
    for group in {g for _, _, g in rows}:
        spans = parts.filter(pl.col("group") == group).select("start_ns", "end_ns").sort("start_ns").rows()
        assert sum(end - start for start, end in spans) == len(instants(rows, group))
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_the_outer_of_two_intervals_stays_whole() -> None:
    rows = pl.DataFrame(
        {"start_ns": [10, 10, 12, 30], "end_ns": [20, 15, 25, 31], "name": ["a", "b", "c", "d"]}
    )
    assert disjoint(rows, []).select("name", "start_ns", "end_ns").rows() == [
        ("a", 10, 20),
        ("c", 20, 25),
        ("d", 30, 31),
    ]


@given(INTERVALS, INTERVALS)
def test_overlap_counts_covered_instants(
    rows: list[tuple[int, int, int]], cover: list[tuple[int, int, int]]
) -> None:
    expected = [
        len(set(range(start, start + length)) & instants(cover, group)) for start, length, group in rows
    ]
    assert overlap_ns(frame(rows), frame(cover), ["group"]).to_list() == expected


@given(INTERVALS, INTERVALS)
def test_overlap_by_kind_sums_to_the_whole(
    rows: list[tuple[int, int, int]], cover: list[tuple[int, int, int]]
) -> None:
    kind = pl.when(pl.col("length") % 2 == 0).then(pl.lit("even")).otherwise(pl.lit("odd")).alias("kind")
    parts = disjoint(frame(cover).with_columns(kind), ["group"])
    kinds = overlaps_ns(frame(rows), parts, ["group"], ["even", "odd"])
    assert (kinds["even"] + kinds["odd"]).to_list() == overlap_ns(frame(rows), parts, ["group"]).to_list()
    for name in ("even", "odd"):
        alone = overlap_ns(frame(rows), parts.filter(pl.col("kind") == name), ["group"])
        assert kinds[name].to_list() == alone.to_list()


@given(INTERVALS, INTERVALS)
def test_count_between_leaves_the_start_out(
    rows: list[tuple[int, int, int]], events: list[tuple[int, int, int]]
) -> None:
    expected = [
        sum(start < time <= start + length for time, _, g in events if g == group)
        for start, length, group in rows
    ]
    assert count_between(frame(rows), frame(events), ["group"]).to_list() == expected


def test_groups_may_be_null() -> None:
    rows = pl.DataFrame({"start_ns": [0, 0], "end_ns": [9, 9], "group": [None, 1]})
    cover = pl.DataFrame(
        {"start_ns": [2], "end_ns": [4], "group": [None]}, schema_overrides={"group": pl.Int64}
    )
    assert overlap_ns(rows, cover, ["group"]).to_list() == [2, 0]
