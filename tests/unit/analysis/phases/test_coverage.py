"""Streams that vanish from a recording."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.phases.coverage import coverage
from rocm_perf.model.coverage import Coverage
from tests.unit.analysis.traces import call, kernel, trace


def holes(result: Coverage) -> set[str]:
    return {hole.id for hole in result.holes}


@pytest.mark.parametrize(("last", "vanishes"), [(30, True), (95, False)])
def test_a_stream_that_falls_silent(last: int, vanishes: bool) -> None:
    regular = [kernel("a", i * last // 30, i * last // 30 + 1, stream_id=1) for i in range(30)]
    others = [kernel("b", i, i + 1, stream_id=2) for i in range(100)]
    assert ("stream-vanishes" in holes(coverage(trace(dispatches=regular + others)))) is vanishes


def test_a_stream_whose_launches_all_have_kernels_lost_none() -> None:
    ahead = [kernel("a", 10 * i, 10 * i + 5, stream_id=1, correlation_id=i + 1) for i in range(30)]
    slow = [kernel("b", 100 * i, 100 * i + 90, stream_id=2, correlation_id=i + 101) for i in range(30)]
    calls = [call("hipLaunchKernel", i, i + 1, correlation=i) for i in (*range(1, 31), *range(101, 131))]
    assert not coverage(trace(dispatches=ahead + slow, api_calls=calls)).holes
    (hole,) = coverage(trace(dispatches=ahead + slow)).holes
    assert hole.title == "stream 1 of GPU 0 falls silent"


def test_a_stream_of_the_start_up_does_not_vanish() -> None:
    """All of its work lies before the steps that repeat."""
    first = [kernel("a", 10 * i, 10 * i + 5, stream_id=1) for i in range(30)]
    steps = [
        kernel(name, 1000 * step + 100 * place, 1000 * step + 100 * place + 90, stream_id=2)
        for step in range(1, 21)
        for place, name in enumerate("bcdef")
    ]
    assert not coverage(trace(dispatches=[*first, *steps])).holes


def test_streams_that_fall_silent_are_in_order() -> None:
    silent = [kernel("a", i, i + 1, stream_id=stream) for stream in range(8, 0, -1) for i in range(30)]
    others = [kernel("b", i, i + 1, stream_id=9) for i in range(100)]
    titles = [hole.title for hole in coverage(trace(dispatches=silent + others)).holes]
    assert titles == [f"stream {stream} of GPU 0 falls silent" for stream in range(1, 9)]
