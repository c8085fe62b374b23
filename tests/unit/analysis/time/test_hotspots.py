"""Kernels by time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.time.hotspots import hotspots
from tests.unit.analysis.traces import kernel, trace


def test_totals_and_order() -> None:
    result = hotspots(
        trace(dispatches=[kernel("a", 0, 10), kernel("b", 10, 40), kernel("a", 40, 60), kernel("a", 60, 63)])
    )
    first, second = result.rows
    assert (second.kernel, second.calls, second.total_ns, second.mean_ns, second.median_ns) == (
        "b",
        1,
        30,
        30,
        30,
    )
    assert (first.kernel, first.calls, first.total_ns, first.median_ns, first.min_ns, first.max_ns) == (
        "a",
        3,
        33,
        10,
        3,
        20,
    )
    assert first.share == pytest.approx(33 / 63)


def test_grouping_by_short_name_joins_instances() -> None:
    rows = [kernel("void f<1>(int)", 0, 1), kernel("void f<2>(int)", 1, 3)]
    assert [row.kernel for row in hotspots(trace(dispatches=rows), "short").rows] == ["f"]
    assert len(hotspots(trace(dispatches=rows), "full").rows) == 2


def test_only_the_timed_pass_counts() -> None:
    rows = [kernel("a", 0, 10), kernel("a", 1000, 5000, pass_id=1)]
    assert hotspots(trace(dispatches=rows)).total_ns == 10


def test_statistics_stand_in_where_no_dispatch_was_kept() -> None:
    summary = {"domain": "kernel", "name": "k", "calls": 4, "total_ns": 80.0, "mean_ns": 20.0}
    result = hotspots(trace(summaries=[summary]))
    assert (result.rows[0].kernel, result.rows[0].median_ns, result.dispatches) == ("k", None, 4)


def test_nothing_says_why() -> None:
    assert hotspots(trace()).unavailable == "the recording holds no kernels"
    timeless = trace(dispatches=[{"kernel": "k"}])
    assert hotspots(timeless).unavailable == "the recording lists kernels without times"


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=30
    )
)
def test_shares_add_up(rows: list[tuple[str, int, int]]) -> None:
    result = hotspots(trace(dispatches=[kernel(name, start, start + length) for name, start, length in rows]))
    assert sum(row.calls for row in result.rows) == len(rows)
    if result.total_ns:
        assert sum(row.share for row in result.rows) == pytest.approx(1)
