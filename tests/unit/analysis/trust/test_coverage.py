"""Coverage: every hole is a finding."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.trust.coverage import coverage
from rocm_perf.model.coverage import Coverage
from rocm_perf.model.run import Loss
from tests.unit.analysis.traces import call, kernel, trace


def holes(result: Coverage) -> set[str]:
    return {hole.id for hole in result.holes}


def test_a_whole_recording_has_no_hole() -> None:
    result = coverage(
        trace(
            dispatches=[kernel("a", 5, 9, correlation_id=1), kernel("a", 9, 12, correlation_id=2)],
            api_calls=[
                call("hipLaunchKernel", 0, 1, 1),
                call("hipModuleLaunchKernel", 1, 2, 2),
                call("hipMalloc", 2, 3, 3),
            ],
        )
    )
    assert (result.launched, result.dispatched, result.paired) == (2, 2, 2)
    assert (result.launches_without_kernels, result.kernels_without_launches) == (0, 0)
    assert result.paired_share == 1
    assert not result.holes


def test_both_directions_of_missing_pairs() -> None:
    result = coverage(
        trace(
            dispatches=[kernel("a", 5, 9, correlation_id=1), kernel("a", 9, 12, correlation_id=7)],
            api_calls=[call("hipLaunchKernel", 0, 1, 1), call("hipLaunchKernel", 1, 2, 2)],
        )
    )
    assert (result.paired, result.kernels_without_launches, result.launches_without_kernels) == (1, 1, 1)
    assert holes(result) == {"kernels-without-launch", "launches-without-kernel"}


def test_a_graph_launch_covers_all_its_kernels() -> None:
    kernels = [kernel("a", i, i + 1, correlation_id=4) for i in range(5)]
    result = coverage(trace(dispatches=kernels, api_calls=[call("hipGraphLaunch", 0, 1, 4)]))
    assert (result.launched, result.paired, result.launches_without_kernels) == (1, 5, 0)


def test_the_same_id_in_another_process_is_no_pair() -> None:
    result = coverage(
        trace(
            dispatches=[kernel("a", 5, 9, correlation_id=1, pid=10)],
            api_calls=[call("hipLaunchKernel", 0, 1, 1, pid=11)],
        )
    )
    assert result.paired == 0


def test_without_runtime_calls_nothing_is_claimed() -> None:
    result = coverage(trace(dispatches=[kernel("a", 0, 1)], api_calls=[call("hsa_init", 0, 1, domain="hsa")]))
    assert (result.launched, result.paired, result.kernels_without_launches) == (None, None, None)
    assert result.paired_share is None
    assert not result.holes


def test_kernels_without_ids_cannot_be_paired() -> None:
    result = coverage(trace(dispatches=[kernel("a", 0, 1)], api_calls=[call("hipLaunchKernel", 0, 1, 1)]))
    assert (result.launched, result.paired) == (1, None)


def test_losses_are_holes() -> None:
    result = coverage(trace(losses=[Loss("f", "rows cut off", 3), Loss("g", "the end")]))
    assert holes(result) == {"lost-records"}
    assert result.lost_records is None
    assert coverage(trace(losses=[Loss("f", "rows cut off", 3)])).lost_records == 3


def test_what_was_asked_and_is_absent() -> None:
    assert holes(coverage(trace(asked=["kernel", "hip"], dispatches=[kernel("a", 0, 1)]))) == {
        "asked-but-absent"
    }


def test_counters_without_a_dispatch() -> None:
    counters = [{"dispatch_id": number, "counter": "SQ_WAVES", "value": 1.0} for number in (1, 2)]
    result = coverage(trace(dispatches=[kernel("a", 0, 1, dispatch_id=1)], counters=counters))
    (hole,) = result.holes
    assert hole.title == "1 counter value without a recorded dispatch"


def test_kernels_that_end_before_they_start() -> None:
    assert holes(coverage(trace(dispatches=[kernel("a", 9, 3)]))) == {"negative-duration"}


@pytest.mark.parametrize(
    ("name", "launches"),
    [
        ("hipLaunchKernel", True),
        ("hipExtModuleLaunchKernel", True),
        ("hipLaunchCooperativeKernel", True),
        ("hipGraphLaunch", True),
        ("cudaLaunchKernelExC", True),
        ("cuLaunchKernelEx", True),
        ("hipLaunchHostFunc", False),
        ("__hipPushCallConfiguration", False),
        ("hipMemcpyAsync", False),
    ],
)
def test_which_calls_launch(name: str, launches: bool) -> None:
    assert coverage(trace(api_calls=[call(name, 0, 1, 1)])).launched == int(launches)


def test_replays_that_left_nothing_count_as_missing() -> None:
    kernels = [kernel("a", i, i + 1, correlation_id=replay) for replay in range(4) for i in range(30)]
    calls = [call("hipGraphLaunch", replay, replay + 1, replay) for replay in range(32)]
    result = coverage(trace(dispatches=kernels, api_calls=[*calls, call("hipDeviceSynchronize", 50, 60)]))
    assert (result.dispatched, result.paired, result.missing) == (120, 120, 28 * 30)
    assert result.paired_share == 120 / (32 * 30)


def test_launches_that_a_graph_captured_were_no_launches() -> None:
    calls = [
        call("hipStreamBeginCapture", 0, 1),
        call("hipLaunchKernel", 2, 3, 7),
        call("hipStreamEndCapture", 4, 5),
        call("hipGraphLaunch", 6, 7, 8),
    ]
    result = coverage(trace(dispatches=[kernel("a", 8, 9, correlation_id=8)], api_calls=calls))
    assert (result.launched, result.launches_without_kernels, result.missing) == (1, 0, 0)
    assert not result.holes
