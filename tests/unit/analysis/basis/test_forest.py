"""Rows inside one another."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.basis.forest import depths, first_reaching, is_outermost, nearest, subtree_sums

#  0 { 1 { 2 3 } } 4
PARENTS = pl.Series([None, 0, 1, 1, None], dtype=pl.UInt32)
BEHIND = pl.Series([4, 4, 3, 4, 5], dtype=pl.UInt32)


def test_the_nearest_wanted_row_around_each() -> None:
    wanted = pl.Series([True, False, True, False, True])
    assert nearest(PARENTS, wanted).to_list() == [None, 0, 0, 0, None]


def test_nothing_wanted_is_around_nothing() -> None:
    assert nearest(PARENTS, pl.repeat(False, 5, eager=True)).to_list() == [None] * 5


def test_the_depth_of_a_row_counts_the_wanted_ones_around_it() -> None:
    assert depths(BEHIND, pl.repeat(True, 5, eager=True)).to_list() == [0, 1, 2, 2, 0]
    assert depths(BEHIND, pl.Series([True, False, True, True, True])).to_list() == [0, 1, 1, 1, 0]


def test_sums_hold_what_is_inside() -> None:
    assert subtree_sums(BEHIND, pl.Series([1, 2, 4, 8, 16])).to_list() == [15, 14, 4, 8, 16]


def test_outermost_of_its_kind_also_where_other_kinds_lie_between() -> None:
    rows = pl.DataFrame({"behind": BEHIND, "kind": ["a", "b", "a", "b", "a"]}).with_row_index("row")
    assert rows.select(is_outermost("kind")).to_series().to_list() == [True, True, False, False, True]


def test_no_rows() -> None:
    nothing = pl.Series([], dtype=pl.UInt32)
    assert nearest(nothing, pl.Series([], dtype=pl.Boolean)).len() == 0
    assert subtree_sums(nothing, pl.Series([], dtype=pl.Int64)).len() == 0
    assert first_reaching(nothing, pl.Series([], dtype=pl.Int64), nothing, nothing).len() == 0


@given(
    st.data(),
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9), st.booleans()), min_size=1, max_size=40),
)
def test_any_forest_is_climbed_like_step_by_step(
    data: st.DataObject, drawn: list[tuple[int, int, bool]]
) -> None:
    parents = [None if not row or pick % 4 == 0 else pick % row for row, (pick, _, _) in enumerate(drawn)]
    reach = [value for _, value, _ in drawn]
    wanted = [flag for _, _, flag in drawn]
    beyond = data.draw(st.lists(st.integers(0, 9), min_size=len(drawn), max_size=len(drawn)))

    def climbed(row: int | None, value: int) -> int | None:
        while row is not None and reach[row] <= value:
            row = parents[row]
        return row

    def above(row: int | None) -> int | None:
        while row is not None and not wanted[row]:
            row = parents[row]
        return row

    series = pl.Series(parents, dtype=pl.UInt32)
    rows = pl.int_range(len(drawn), dtype=pl.UInt32, eager=True)
    reached = first_reaching(series, pl.Series(reach), rows, pl.Series(beyond))
    assert reached.to_list() == [climbed(row, value) for row, value in enumerate(beyond)]
    assert nearest(series, pl.Series(wanted)).to_list() == [above(parent) for parent in parents]
