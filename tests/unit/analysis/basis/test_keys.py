"""Columns of one value may be left out of any key: the answers are those of the whole key."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rocm_perf.analysis.basis.keys import (
    alone,
    firsts,
    grouped,
    joined,
    numbers,
    ordered,
    over,
    ranks,
    sorted_by,
    telling,
)

_BY = ["node", "pid", "stream"]
_SCHEMA = {"node": pl.Int32, "pid": pl.Int64, "stream": pl.Int64, "start_ns": pl.Int64, "name": pl.String}
_few = st.one_of(st.none(), st.integers(0, 2))


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Rows of which a column often has one value throughout, which may be null."""
    count = draw(st.integers(0, 12))
    columns = [
        draw(
            st.one_of(_few.map(lambda value: [value] * count), st.lists(_few, min_size=count, max_size=count))
        )
        for _ in _BY
    ]
    starts = draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))
    starts = sorted(starts) if draw(st.booleans()) else starts
    values = [*columns, starts, [f"k{start % 3}" for start in starts]]
    return pl.DataFrame(dict(zip(_SCHEMA, values, strict=True)), schema=_SCHEMA)


@given(tables())
def test_a_column_tells_rows_apart_if_it_has_several_values(rows: pl.DataFrame) -> None:
    assert telling(_BY, rows) == [name for name in _BY if rows[name].n_unique() > 1]


@given(tables(), tables())
def test_frames_are_told_apart_by_what_differs_between_them(rows: pl.DataFrame, others: pl.DataFrame) -> None:
    both = pl.concat([rows, others])
    assert telling(_BY, rows, others) == [name for name in _BY if both[name].n_unique() > 1]


@given(tables())
def test_groups_are_those_of_the_whole_key(rows: pl.DataFrame) -> None:
    aggregates = (pl.len().alias("count"), pl.col("start_ns").max().alias("last"))
    assert_frame_equal(
        grouped(rows, _BY, *aggregates), rows.group_by(_BY, maintain_order=True).agg(aggregates)
    )


@given(tables())
def test_values_within_groups_are_those_of_the_whole_key(rows: pl.DataFrame) -> None:
    reach = pl.col("start_ns").cum_max()
    assert_frame_equal(rows.with_columns(over(reach, telling(_BY, rows))), rows.with_columns(reach.over(_BY)))


@given(tables())
def test_groups_are_numbered_in_the_order_of_their_values(rows: pl.DataFrame) -> None:
    numbers = rows.with_columns(group=ranks(_BY, rows))
    assert_frame_equal(numbers, rows.with_columns(group=pl.struct(_BY).rank("dense").cast(pl.Int64) - 1))


@given(tables())
def test_rows_are_in_the_order_of_the_whole_key(rows: pl.DataFrame) -> None:
    keys = [*_BY, "start_ns", "name"]
    falling = [False] * 4 + [True]
    expected = rows.sort(keys, descending=falling, nulls_last=[True, *[False] * 4], maintain_order=True)
    assert_frame_equal(ordered(rows, keys, falling=["name"], nulls_last=["node"]), expected)


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-(2**63), 2**63 - 1), st.integers(0, 3)), max_size=20),
    st.sets(st.sampled_from(["start_ns", "end_ns", "row"])),
)
def test_whole_numbers_are_in_the_order_of_all_keys(
    values: list[tuple[int, int, int]], falling: set[str]
) -> None:
    schema = {"start_ns": pl.Int64, "end_ns": pl.Int64, "row": pl.UInt32}
    rows = pl.DataFrame(values, schema=schema, orient="row").with_row_index("place")
    keys = list(schema)
    expected = rows.sort(keys, descending=[key in falling for key in keys], maintain_order=True)
    assert_frame_equal(ordered(rows, keys, falling=list(falling)), expected)


@given(tables())
def test_sorting_key_by_key_is_sorting_by_all(rows: pl.DataFrame) -> None:
    keys = ["pid", "start_ns", "name"]
    assert_frame_equal(sorted_by(rows, *keys), rows.sort(keys, maintain_order=True))


@given(tables())
def test_the_first_of_each_group_and_what_is_alone(rows: pl.DataFrame) -> None:
    assert_frame_equal(firsts(rows, _BY), rows.unique(_BY, keep="first", maintain_order=True))
    assert_frame_equal(alone(rows, _BY), rows.unique(_BY, keep="none", maintain_order=True))


@given(tables())
def test_groups_are_numbered_in_the_order_in_which_they_begin(rows: pl.DataFrame) -> None:
    seen: dict[tuple[object, ...], int] = {}
    expected = [seen.setdefault(row, len(seen)) for row in rows.select(_BY).iter_rows()]
    assert numbers(_BY, rows).to_list() == expected


@given(tables())
def test_texts_of_a_group_are_joined_in_their_order(rows: pl.DataFrame) -> None:
    expected: dict[int, list[str]] = {}
    for start, name in rows.select("start_ns", "name").iter_rows():
        expected.setdefault(start, []).append(name)
    texts = dict(joined(rows, "start_ns", "name", " ").iter_rows())
    assert texts == {start: " ".join(names) for start, names in expected.items()}
