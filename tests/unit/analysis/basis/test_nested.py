"""Spans nested by time, and what was open at a given instant."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.basis.nested import enclosing, nest, with_launch
from tests.unit.analysis.traces import call, kernel, trace

TRACK = ["tid"]


def spans(*rows: tuple[int, int, int]) -> pl.DataFrame:
    schema = {"tid": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def points(*rows: tuple[int, int | None]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"tid": pl.Int64, "time_ns": pl.Int64}, orient="row")


def test_the_parent_is_the_innermost_open_span_of_the_thread() -> None:
    nested = nest(spans((1, 10, 20), (1, 0, 100), (1, 12, 15), (2, 11, 14), (1, 20, 30)), TRACK)
    assert nested.select("start_ns", "parent").rows() == [(0, None), (10, 0), (12, 1), (20, 0), (11, None)]


def test_spans_without_times_are_left_out() -> None:
    assert nest(spans((1, 5, 3)).vstack(spans((1, 0, 4))), TRACK).height == 1


def test_what_is_open_at_an_instant() -> None:
    nested = nest(spans((1, 0, 100), (1, 10, 20), (1, 30, 40)), TRACK)
    parents = enclosing(
        nested, points((1, 15), (1, 25), (1, 20), (1, 100), (2, 15), (1, None), (1, 10)), TRACK
    )
    assert parents.to_list() == [1, 0, 0, None, None, None, 1]


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30), st.integers(1, 12)), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 45)), min_size=1, max_size=8),
)
def test_some_open_span_is_found_whenever_there_is_one(
    rows: list[tuple[int, int, int]], instants: list[tuple[int, int]]
) -> None:
    nested = nest(spans(*((tid, start, start + length) for tid, start, length in rows)), TRACK)
    parents = enclosing(nested, points(*instants), TRACK).to_list()
    for (tid, instant), row in zip(instants, parents, strict=True):
        open_now = nested.filter(
            (pl.col("tid") == tid) & (pl.col("start_ns") <= instant) & (pl.col("end_ns") > instant)
        )
        latest = open_now["start_ns"].max()
        assert (row is None) == (latest is None)
        if row is not None:
            assert nested["start_ns"][row] == latest


def test_the_launch_is_the_call_with_the_same_correlation_in_the_same_process() -> None:
    recording = trace(
        dispatches=[
            kernel("k", 10, 20, pid=1, correlation_id=7),
            kernel("k", 30, 40, pid=1, correlation_id=8),
        ],
        api_calls=[
            call("hipLaunchKernel", 3, 5, 7, pid=1, tid=11),
            call("hipLaunchKernel", 1, 2, 7, pid=2, tid=22),
        ],
    )
    launched = with_launch(recording, recording.table("dispatches"))
    assert launched.select("launch_ns", "launch_end_ns", "launch_tid").rows() == [
        (3, 5, 11),
        (None, None, None),
    ]


@st.composite
def calls_of_a_thread(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    """Spans that lie within one another or apart, as calls on a thread do."""
    rows: list[tuple[int, int, str]] = []

    def fill(start: int, end: int, depth: int) -> None:
        while end - start >= 2 and depth < 4 and draw(st.booleans()):
            first = draw(st.integers(start, end - 1))
            last = draw(st.integers(first + 1, end))
            rows.append((first, last, f"{len(rows)}"))
            fill(first, last, depth + 1)
            start = last

    fill(0, 40, 0)
    return rows


@given(calls_of_a_thread(), st.lists(st.integers(-1, 41), max_size=10))
def test_the_innermost_span_around_a_point(rows: list[tuple[int, int, str]], times: list[int]) -> None:
    table = pl.DataFrame(
        [(1, *span) for span in rows],
        schema={"tid": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64, "name": pl.String},
        orient="row",
    )
    around = [[span for span in rows if span[0] <= time < span[1]] for time in times]
    # Of two with the same edges the later one is inside.
    expected = [
        min(nested, key=lambda span: (span[1] - span[0], -int(span[2])))[2] if nested else None
        for nested in around
    ]
    nested = nest(table, TRACK)
    inside = enclosing(nested, points(*((1, time) for time in times)), TRACK)
    assert nested["name"].gather(inside).to_list() == expected
