"""Synchronising calls: how long, and how much of it the GPU stood idle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.busy import device_times
from rocm_perf.analysis.sync import sync_findings, sync_time
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, trace

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=12)


def test_idle_is_what_no_gpu_work_covers() -> None:
    recording = trace(
        dispatches=[kernel("k", 10, 20), kernel("k", 15, 30, stream_id=1)],
        copies=[{"kind": "D2H", "start_ns": 34, "end_ns": 36, "agent_id": 0}],
        api_calls=[
            call("hipStreamSynchronize", 5, 25),
            call("hipDeviceSynchronize", 28, 40),
            call("hipMalloc", 0, 99),
        ],
    )
    found = sync_time(recording)
    assert found is not None
    assert (found.calls, found.device_wide, found.union_ns, found.idle_ns) == (2, 1, 32, 5 + (12 - 2 - 2))


def test_none_without_such_calls() -> None:
    assert sync_time(trace(api_calls=[call("hipLaunchKernel", 0, 1)])) is None


@given(SPANS, SPANS)
def test_idle_equals_a_count_of_instants(waits: list[tuple[int, int]], work: list[tuple[int, int]]) -> None:
    recording = trace(
        dispatches=[kernel("k", start, start + length) for start, length in work],
        api_calls=[call("hipStreamSynchronize", start, start + length) for start, length in waits],
    )
    waiting = {instant for start, length in waits for instant in range(start, start + length)}
    working = {instant for start, length in work for instant in range(start, start + length)}
    found = sync_time(recording)
    assert found is not None
    assert found.idle_ns == len(waiting - working)
    assert 0 <= found.idle_ns <= found.union_ns


def looped(syncs: int) -> Trace:
    kernels = [kernel("k", 100 * i, 100 * i + 40) for i in range(20)]
    waits = [call("hipStreamSynchronize", 100 * i, 100 * i + 60) for i in range(syncs)]
    return trace(dispatches=kernels, api_calls=waits)


def test_the_pattern_is_found_with_its_bound() -> None:
    recording = looped(20)
    devices = device_times(recording)
    (finding,) = sync_findings(sync_time(recording), devices)
    assert finding.time_at_stake_ns == devices[0].idle_ns
    assert finding.projected_speedup is not None
    assert finding.projected_speedup.value == devices[0].window_ns / devices[0].busy_ns
    assert "20 synchronising calls for 20 kernels" in finding.evidence


def test_a_few_waits_are_no_pattern() -> None:
    recording = looped(3)
    assert sync_findings(sync_time(recording), device_times(recording)) == []
    assert sync_findings(None, ()) == []
