"""Interval unions, against a slow and obvious one."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.intervals import total_union_ns, union_ns

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
