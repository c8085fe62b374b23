"""Ranges made by hand: which kernels belong to them, and what they cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.program.ranges import ranges, step_spans
from rocm_perf.model.results.ranges import Ranges, RangeTotal
from tests.unit.analysis.traces import Row, call, kernel, trace


def span(name: str, start: int, end: int | None, tid: int = 1, **more: object) -> Row:
    return {
        "name": name,
        "source": "roctx",
        "start_ns": start,
        "end_ns": end,
        "pid": 1,
        "tid": tid,
        "depth": 0,
        **more,
    }


def launch(start: int, number: int, tid: int = 1) -> Row:
    return call("hipLaunchKernel", start, start + 1, number, pid=1, tid=tid)


def ran(start: int, end: int, number: int | None = None) -> Row:
    return kernel("k", start, end, pid=1, correlation_id=number)


def row(table: Ranges, *path: str) -> RangeTotal:
    return next(row for row in table.rows if row.path == path)


def test_kernels_belong_to_the_range_of_their_launch_not_of_their_time() -> None:
    table = ranges(
        trace(
            ranges=[span("outer", 0, 100), span("inner", 10, 20), span("later", 200, 300)],
            api_calls=[launch(12, 1), launch(13, 2), launch(50, 3)],
            dispatches=[ran(210, 220, 1), ran(215, 240, 2), ran(260, 270, 3)],
        )
    )
    outer, inner, later = row(table, "outer"), row(table, "outer", "inner"), row(table, "later")
    assert (inner.kernels, inner.own_kernels, inner.gpu_ns, inner.gap_ns) == (2, 2, 30, 0)
    assert (outer.kernels, outer.own_kernels, outer.gpu_ns, outer.gap_ns) == (3, 1, 40, 20)
    assert (later.kernels, later.gpu_ns, later.depth, inner.depth) == (0, 0, 0, 1)
    assert (table.by_launch, table.by_time, table.outside) == (3, 0, 0)


def test_launches_from_another_thread_and_unrecorded_launches_fall_back_to_time() -> None:
    table = ranges(
        trace(
            ranges=[span("step", 0, 100), span("inside", 40, 60)],
            api_calls=[launch(50, 1, tid=9)],
            dispatches=[ran(300, 310, 1), ran(45, 55), ran(55, 65), ran(90, 110)],
        )
    )
    assert (table.by_launch, table.by_time, table.outside) == (0, 3, 1)
    assert row(table, "step", "inside").kernels == 2
    assert row(table, "step").kernels == 3


def test_calls_are_summed_and_the_slowest_kept() -> None:
    table = ranges(trace(ranges=[span(f"ProfilerStep#{i}", 100 * i, 100 * i + 10 + i) for i in range(15)]))
    (total,) = table.rows
    assert (total.path, total.calls, total.host_ns) == (("ProfilerStep",), 15, sum(range(10, 25)))
    assert (total.min_host_ns, total.max_host_ns, total.mean_host_ns) == (10, 24, 17.0)
    assert [one.host_ns for one in total.slowest] == list(range(24, 14, -1))


def test_parents_stand_before_children_and_siblings_in_order_of_time() -> None:
    table = ranges(trace(ranges=[span("b", 50, 60), span("z", 0, 40), span("a", 5, 10), span("c", 12, 20)]))
    assert [total.path for total in table.rows] == [("z",), ("z", "a"), ("z", "c"), ("b",)]


def test_marks_and_shadows_are_no_ranges() -> None:
    marks = ranges(trace(ranges=[span("m", 5, 5), span("n", 6, None)]))
    assert (marks.marks, marks.unavailable) == (2, "only marks were recorded: an instant holds no kernels")
    assert "shadows" in str(ranges(trace(ranges=[span("s", 5, 9, on_gpu=True)])).unavailable)
    assert "no named range" in str(ranges(trace(dispatches=[ran(0, 1)])).unavailable)


def test_steps() -> None:
    steps = [span(f"ProfilerStep#{i}", 10 * i, 10 * i + 9) for i in range(2)]
    assert step_spans(trace(ranges=[*steps, span("x", 0, 3)])).height == 2
    loop = [span("decode", 10 * i, 10 * i + 9) for i in range(3)]
    assert step_spans(trace(ranges=[*loop, span("once", 0, 3)]))["name"].to_list() == ["decode"] * 3
    assert step_spans(trace(ranges=loop[:2])).height == 0


SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), min_size=1, max_size=8)


@given(SPANS, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=8))
def test_no_call_has_more_gpu_time_than_the_gpu(
    spans: list[tuple[int, int]], work: list[tuple[int, int]]
) -> None:
    recording = trace(
        ranges=[span(f"r{i % 3}", start, start + length) for i, (start, length) in enumerate(spans)],
        dispatches=[ran(start, start + length) for start, length in work] or [ran(0, 0)],
    )
    busy = {instant for start, length in work for instant in range(start, start + length)}
    table = ranges(recording)
    assert sum(total.calls for total in table.rows) == len(spans)
    calls = [one for total in table.rows for one in total.slowest]
    assert all(one.gpu_ns <= len(busy) and one.gap_ns >= 0 for one in calls)
    assert sum(total.own_kernels for total in table.rows) == table.by_launch + table.by_time
    assert table.by_launch + table.by_time + table.outside == max(1, len(work))


def test_the_launching_thread_comes_before_others() -> None:
    table = ranges(
        trace(
            ranges=[span("mine", 0, 100), span("of another thread", 40, 60, tid=9)],
            api_calls=[launch(50, 1)],
            dispatches=[ran(45, 55, 1)],
        )
    )
    assert (row(table, "mine").kernels, row(table, "of another thread").kernels) == (1, 0)
