"""Synchronising calls: how long, and how much of it the GPU stood idle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.idle.sync import sync_findings, waiting
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import call, kernel, trace

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=12)


def test_lost_is_what_no_gpu_work_covers() -> None:
    recording = trace(
        dispatches=[kernel("k", 10, 20), kernel("k", 15, 30, stream_id=1)],
        copies=[{"kind": "D2H", "start_ns": 34, "end_ns": 36, "agent_id": 0}],
        api_calls=[
            call("hipStreamSynchronize", 5, 25),
            call("hipDeviceSynchronize", 28, 40),
            call("hipMalloc", 0, 99),
        ],
    )
    waits = waiting(recording)
    assert (waits.total.calls, waits.total.total_ns, waits.total.lost_ns) == (2, 32, 5 + (12 - 2 - 2))
    assert {row.name: row.calls for row in waits.scopes} == {"stream": 1, "device": 1}


def looped(syncs: int) -> Trace:
    kernels = [kernel("k", 100 * i, 100 * i + 40) for i in range(20)]
    waits = [call("hipStreamSynchronize", 100 * i, 100 * i + 60) for i in range(syncs)]
    return trace(dispatches=kernels, api_calls=waits)


def test_the_pattern_is_found_with_its_bound() -> None:
    recording = looped(20)
    devices = device_times(recording)
    (finding,) = sync_findings(document(recording))
    assert finding.time_at_stake_ns == devices[0].idle_ns
    assert finding.projected_speedup is not None
    assert finding.projected_speedup.value == devices[0].window_ns / devices[0].busy_ns
    assert "20 synchronising calls for 20 kernels" in finding.evidence


def test_a_few_waits_are_no_pattern() -> None:
    recording = looped(3)
    assert sync_findings(document(recording)) == []
    assert sync_findings(document(trace())) == []


def test_waits_without_a_kernel_are_no_pattern() -> None:
    copies = [{"kind": "H2D", "start_ns": 100 * i, "end_ns": 100 * i + 40, "agent_id": 0} for i in range(20)]
    waits = [call("hipDeviceSynchronize", 100 * i + 50, 100 * i + 95) for i in range(20)]
    launch = call("hipLaunchKernel", 0, 1)
    assert sync_findings(document(trace(copies=copies, api_calls=[launch, *waits]))) == []


def test_waiting_by_scope_function_thread_and_operator() -> None:
    recording = trace(
        dispatches=[kernel("k", 0, 50, pid=1)],
        api_calls=[
            call("hipStreamSynchronize", 10, 60, pid=1, tid=1, op_id=3),
            call("hsa_signal_wait_scacquire", 20, 59, domain="hsa", pid=1, tid=1),
            call("hipDeviceSynchronize", 40, 50, pid=1, tid=2),
            call("hipMemcpyWithStream", 70, 90, pid=1, tid=1),
            call("hipMemcpyAsync", 90, 99, pid=1, tid=1),
        ],
        ops=[
            {"name": "aten::item", "category": "operator", "op_id": 3, "pid": 1, "start_ns": 0, "end_ns": 99}
        ],
    )
    waits = waiting(recording)
    assert (waits.total.calls, waits.total.total_ns, waits.total.useful_ns, waits.total.lost_ns) == (
        2,
        60,
        50,
        10,
    )
    assert (waits.blocking_copies.calls, waits.blocking_copies.total_ns, waits.blocking_copies.lost_ns) == (
        1,
        20,
        20,
    )
    assert {row.name: row.total_ns for row in waits.scopes} == {"stream": 50, "device": 10, "copy": 20}
    assert [row.name for row in waits.functions] == [
        "hipStreamSynchronize",
        "hipMemcpyWithStream",
        "hipDeviceSynchronize",
    ]
    assert {row.name: row.total_ns for row in waits.threads} == {
        "process 1, thread 1": 70,
        "process 1, thread 2": 10,
    }
    assert [(row.name, row.lost_ns) for row in waits.operators] == [("aten::item", 10)]
    assert waits.share.value == 50 / 99


def test_waiting_for_another_process_is_no_use() -> None:
    work = [kernel("k", 0, 50, pid=1), kernel("k", 60, 90, pid=2)]
    calls = [call("hipDeviceSynchronize", 0, 100, pid=2)]
    waits = waiting(trace(dispatches=work, api_calls=calls))
    assert (waits.total.useful_ns, waits.busy_is) == (30, "GPU work of the same process")
    unknown = waiting(trace(dispatches=[kernel("k", 0, 50)], api_calls=calls))
    assert (unknown.total.useful_ns, unknown.busy_is) == (50, "any GPU work of the node")


def test_no_waiting_says_why() -> None:
    assert waiting(trace()).unavailable == "no API calls were recorded"
    never = waiting(trace(api_calls=[call("hipMalloc", 0, 1)]))
    assert never.unavailable == "no synchronising call was recorded"
    assert never.share.value == 0  # known: calls were recorded, and none waits


@given(SPANS, SPANS)
def test_useful_and_lost_make_the_total(waits: list[tuple[int, int]], work: list[tuple[int, int]]) -> None:
    result = waiting(
        trace(
            dispatches=[kernel("k", start, start + length) for start, length in work],
            api_calls=[call("hipStreamSynchronize", start, start + length) for start, length in waits],
        )
    )
    waited = {instant for start, length in waits for instant in range(start, start + length)}
    worked = {instant for start, length in work for instant in range(start, start + length)}
    assert (result.total.total_ns, result.total.lost_ns) == (len(waited), len(waited - worked))


def test_waiting_for_a_busy_gpu_is_no_loss() -> None:
    waits = waiting(
        trace(
            dispatches=[kernel("k", 20, 70)],
            api_calls=[
                call("hipDeviceSynchronize", 10, 80),
                call("hipMalloc", 0, 1),
                call("hipFree", 99, 100),
            ],
        )
    )
    assert waits.share.value == 0.7
    assert waits.lost_share.value == 0.2
