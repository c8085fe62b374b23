"""Communication that other kernels hide, and that nothing hides."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.collectives.build import communication
from rocm_perf.analysis.collectives.findings import communication_findings
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import Row, call, kernel, trace

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def half_hidden(collectives: Sequence[Row] = ()) -> Trace:
    kernels = [
        kernel("mul_mat_q", 0, 60),
        kernel(REDUCE, 40, 100, stream_id=1),
        kernel("mul_mat_q", 100, 120),
    ]
    return trace(dispatches=kernels, collectives=collectives) if collectives else trace(dispatches=kernels)


def test_exposed_is_what_no_other_kernel_covers() -> None:
    result = communication(half_hidden())
    assert (result.kernels, result.busy_ns, result.exposed_ns) == (1, 60, 40)
    assert result.exposed_share.value == 40 / 120


def test_gpus_do_not_hide_one_another() -> None:
    kernels = [kernel(REDUCE, 0, 100), kernel("mul_mat_q", 0, 100, agent_id=1)]
    assert communication(trace(dispatches=kernels)).exposed_ns == 100


def test_what_the_recorder_says_of_collectives() -> None:
    rows: list[Row] = [
        {"name": "all_reduce", "start_ns": 40, "end_ns": 70, "size_bytes": 60, "agent_id": 0},
        {"name": "all_reduce", "start_ns": 70, "end_ns": 100, "agent_id": 0},
    ]
    sized, other = communication(half_hidden(collectives=rows)).rows
    assert (sized.calls, sized.total_ns, sized.size_bytes) == (1, 30, 60)
    assert (sized.exposed_ns, other.exposed_ns) == (10, 30)  # mul_mat_q covers it until 60
    assert sized.bandwidth.value == 2.0
    assert other.bandwidth.unavailable == "this recording does not say how many bytes were sent"


def test_a_finding_with_its_bound() -> None:
    (finding,) = communication_findings(document(half_hidden()))
    assert finding.time_at_stake_ns == 40
    assert finding.projected_speedup is not None
    assert finding.projected_speedup.value == 120 / 80


def test_hidden_communication_is_no_finding() -> None:
    kernels = [kernel("mul_mat_q", 0, 100), kernel(REDUCE, 10, 90, stream_id=1)]
    assert communication_findings(document(trace(dispatches=kernels))) == []


def test_none_at_all_says_so() -> None:
    recording = trace(dispatches=[kernel("mul_mat_q", 0, 100)])
    assert communication(recording).unavailable == "no kernel that communicates was recorded"
    assert communication_findings(document(recording)) == []


def test_calls_without_their_kernels_say_what_is_missing() -> None:
    recording = trace(api_calls=[call("ncclAllReduce", 0, 10, domain="rccl")])
    assert "record those too" in (communication(recording).unavailable or "")


def test_what_ran_beside_collectives_is_not_known_without_kernels() -> None:
    rows = [{"name": "all_reduce", "start_ns": 0, "end_ns": 70, "size_bytes": 60, "agent_id": 0}]
    (row,) = communication(trace(collectives=rows)).rows
    assert (row.total_ns, row.exposed_ns) == (70, None)


def test_copies_hide_communication_as_kernels_do() -> None:
    copies = [{"kind": "H2D", "start_ns": 70, "end_ns": 95, "agent_id": 0, "stream_id": 2}]
    recording = half_hidden()
    beside = trace(dispatches=recording.table("dispatches").to_dicts(), copies=copies)
    assert communication(beside).exposed_ns == 40 - 25


def test_the_kernel_that_communicates_is_named() -> None:
    (finding,) = communication_findings(document(half_hidden()))
    assert "ncclDevKernel_AllReduce_Sum_f32_RING_LL" in finding.evidence[0]
    assert finding.kind == "communication"
