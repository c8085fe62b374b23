"""Outstanding launches, against a count instant by instant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.basis.series import POINTS
from rocm_perf.analysis.idle.queue_length import queue_lengths
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, trace

LAUNCHED = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 15), st.integers(0, 9)), min_size=1, max_size=12
)


def recording(rows: list[tuple[int, int, int]]) -> Trace:
    """(launch, wait, length) of each kernel."""
    return trace(
        api_calls=[call("hipLaunchKernel", launch, launch + 1, i) for i, (launch, _, _) in enumerate(rows)],
        dispatches=[
            kernel("k", launch + wait, launch + wait + length, correlation_id=i)
            for i, (launch, wait, length) in enumerate(rows)
        ],
    )


@given(LAUNCHED)
def test_every_number_equals_a_count_of_instants(rows: list[tuple[int, int, int]]) -> None:
    first = min(launch for launch, _, _ in rows)
    last = max(sum(row) for row in rows)
    (queue,) = queue_lengths(recording(rows))
    waiting = [
        sum(launch <= instant < launch + wait for launch, wait, _ in rows) for instant in range(first, last)
    ]
    present = [sum(launch <= instant < sum((launch, wait, length)) for launch, wait, length in rows)
               for instant in range(first, last)]  # fmt: skip
    assert queue.window_ns == last - first
    assert queue.longest == max(waiting, default=0)
    assert max(queue.series) == queue.longest
    if waiting:
        assert queue.mean == pytest.approx(sum(waiting) / len(waiting))
        assert queue.empty.value == pytest.approx(waiting.count(0) / len(waiting))
        assert queue.starved.value == pytest.approx(present.count(0) / len(present))
        assert list(queue.series) == waiting


def test_long_recordings_are_thinned_without_losing_the_peak() -> None:
    rows = [(100 * i, 5, 1) for i in range(5000)] + [(250_010, 50, 1)] * 7
    (queue,) = queue_lengths(recording(rows))
    assert len(queue.series) == POINTS
    assert max(queue.series) == queue.longest == 7


def test_streams_stand_alone_and_kernels_without_a_launch_are_counted() -> None:
    two = trace(
        api_calls=[call("hipLaunchKernel", 0, 1, 1), call("hipLaunchKernel", 0, 1, 2)],
        dispatches=[
            kernel("k", 10, 20, correlation_id=1),
            kernel("k", 30, 40, correlation_id=9),
            kernel("k", 5, 20, correlation_id=2, stream_id=3),
        ],
    )
    by_stream = {row.stream_id: (row.dispatches, row.unpaired, row.longest) for row in queue_lengths(two)}
    assert by_stream == {0: (1, 1, 1), 3: (1, 0, 1)}


def test_copies_and_fills_wait_like_kernels() -> None:
    """A stream that only copies is not starved, and a kernel behind a copy is not alone in the queue."""
    copy = {"agent_id": 0, "stream_id": 0, "correlation_id": 2, "start_ns": 20, "end_ns": 60}
    launched = [
        call("hipLaunchKernel", 0, 1, 1),
        call("hipMemcpyAsync", 5, 6, 2),
        call("hipMemsetAsync", 5, 6, 3),
    ]
    queued = trace(
        api_calls=launched,
        dispatches=[kernel("k", 10, 20, correlation_id=1)],
        copies=[
            {**copy, "kind": "H2D"},
            {**copy, "kind": "MEMSET", "stream_id": 4, "correlation_id": 3, "start_ns": 5, "end_ns": 10},
            {**copy, "kind": "D2H", "stream_id": None, "correlation_id": 9},
        ],
    )
    mixed, fills = queue_lengths(queued)
    assert (mixed.dispatches, mixed.copies, mixed.window_ns, mixed.longest) == (1, 1, 60, 2)
    assert mixed.starved.value == 0
    assert mixed.mean == (10 + 15) / 60
    assert (fills.stream_id, fills.dispatches, fills.copies, fills.longest) == (4, 0, 1, 0)


def test_a_launch_after_its_kernel_means_no_wait() -> None:
    skewed = trace(
        api_calls=[call("hipLaunchKernel", 50, 51, 1)], dispatches=[kernel("k", 40, 60, correlation_id=1)]
    )
    (queue,) = queue_lengths(skewed)
    assert (queue.longest, queue.mean, queue.starved.value) == (0, 0.0, 0.0)


def test_none_without_launches() -> None:
    assert queue_lengths(trace(dispatches=[kernel("k", 0, 1)])) == ()
