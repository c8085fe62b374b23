"""What is said before everything else: where a recording cannot tell, and where it only looks so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.doubts import DOUBTS, doubts
from rocm_perf.model.finding import Finding
from rocm_perf.model.run import ROUNDED_ROWS, Loss, RunInfo
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.traces import Row, call, kernel, trace

MS, US = NS_PER_MS, NS_PER_US


def first(recording: Trace) -> Finding:
    found = doubts(recording)
    assert {finding.id for finding in found} <= DOUBTS  # what puts them first where parts become one
    return found[0]


def said(finding: Finding) -> str:
    return " ".join((finding.title, *finding.evidence, finding.remedy))


def test_an_empty_recording_cannot_tell() -> None:
    finding = first(trace())
    assert (finding.kind, finding.title) == ("cannot-tell", "The recording is empty")
    assert "process that launches" in finding.remedy


def test_a_lone_question_about_devices_cannot_tell() -> None:
    finding = first(trace(api_calls=[call("hipGetDeviceCount", 0, 19 * US)]))
    assert finding.kind == "cannot-tell"
    assert "hipGetDeviceCount" in said(finding)


def test_operators_without_a_gpu_cannot_tell() -> None:
    finding = first(trace(ops=[{"name": "aten::add", "category": "operator", "start_ns": 0, "end_ns": 9}]))
    assert finding.kind == "cannot-tell"
    assert "1 op," in said(finding)


def test_calls_alone_are_start_up_where_first_calls_hold_the_time() -> None:
    calls = [
        call("hipGetDeviceCount", 0, 99 * MS),
        call("hipStreamCreateWithFlags", 100 * MS, 425 * MS),
        call("hipMemcpyAsync", 425 * MS, 474 * MS),
        *(call("hipMemcpyAsync", at * MS, at * MS + 23 * US) for at in range(474, 478)),
    ]
    finding = first(trace(api_calls=calls))
    assert finding.kind == "startup"
    assert "hipStreamCreateWithFlags 325 ms" in said(finding)
    assert "hipMemcpyAsync 49.0 ms (usually 23.0 us)" in said(finding)


def test_calls_alone_of_a_warm_program_miss_the_gpu() -> None:
    calls = [call("hipLaunchKernel", at * MS, at * MS + 5 * US, at) for at in range(100)]
    finding = first(trace(api_calls=calls))
    assert finding.kind == "unrecorded-work"
    assert "100 launches" in said(finding)


def test_times_that_were_rounded_tell_no_duration() -> None:
    bare = {"dispatch_id": 1, "kernel": "k"}
    lost = [Loss("counters.csv", ROUNDED_ROWS, 1)]
    finding = first(trace(lost, dispatches=[bare]))
    assert (finding.id, finding.kind) == ("times-rounded", "cannot-tell")
    assert not doubts(trace(lost, dispatches=[bare, kernel("k", 0, 9)]))


def test_a_whole_recording_has_no_doubts() -> None:
    assert doubts(loop(20)) == ()


def loop(iterations: int) -> Trace:
    return trace(
        dispatches=[
            kernel("step", at * MS, at * MS + 900 * US + at, correlation_id=at, dispatch_id=at + 1)
            for at in range(iterations)
        ],
        api_calls=[
            call("hipLaunchKernel", at * MS - 20 * US, at * MS - 10 * US, at) for at in range(iterations)
        ],
    )


def measured(lengths: Sequence[int]) -> Trace:
    kernels = [
        kernel("ab"[at % 2], at * 100 * MS, at * 100 * MS + length) for at, length in enumerate(lengths)
    ]
    calls = [
        call("cudaLaunchKernel", at * 67 * MS, (at + 1) * 67 * MS, at, "cuda") for at in range(len(lengths))
    ]
    return trace(dispatches=kernels, api_calls=calls)


def test_equal_slices_are_the_profilers() -> None:
    finding = first(measured([50 * MS] * 30))
    assert finding.kind == "cannot-tell"
    assert "cudaLaunchKernel take 67.0 ms" in said(finding)


def test_one_other_length_is_a_measurement() -> None:
    assert doubts(measured([50 * MS] * 29 + [50 * MS + 1])) == ()


def numbered(numbers: Sequence[int], **tables: Sequence[Row]) -> Trace:
    kernels = [kernel("gemv", at * 10 * US, at * 10 * US + 8 * US, dispatch_id=at) for at in numbers]
    return trace((), (), dispatches=kernels, **tables)


def test_numbers_tell_that_dispatches_are_missing() -> None:
    finding = first(numbered([*range(164, 188), *range(1134, 1158)]))
    assert (finding.kind, finding.id) == ("unrecorded-work", "dispatches-missing")
    assert "48 of the 994 dispatches from Dispatch_Id 164 to 1,157 are here, in 2 runs" in said(finding)
    assert "busy 80.7 %" in said(finding)
    assert "gemv takes 100.0 %" in said(finding)


def test_numbers_without_times_tell_it_too() -> None:
    untimed = [{"kernel": "gemv", "dispatch_id": at} for at in (1, 2, 3, 500)]
    assert first(trace(dispatches=untimed)).id == "dispatches-missing"


@pytest.mark.parametrize("numbers", [range(900, 950), [*range(50), *range(52, 100)]])
def test_a_window_or_a_few_missing_numbers_are_no_doubt(numbers: Sequence[int]) -> None:
    assert doubts(numbered(numbers)) == ()


def test_copies_may_be_numbered_with_kernels() -> None:
    copies = [{"kind": "H2D", "start_ns": at, "end_ns": at + 1} for at in range(50)]
    assert doubts(numbered(range(0, 100, 2), copies=copies)) == ()


def test_chosen_kernels_of_a_counter_pass_are_no_doubt() -> None:
    counters = [{"counter": "SQ_WAVES", "value": 1.0, "dispatch_id": 0}]
    assert doubts(numbered([0, 500, 900], counters=counters)) == ()


def replayed(sizes: Sequence[int], *more_calls: Row) -> Trace:
    """One replay a millisecond, of so many kernels."""
    kernels = [
        kernel("k", at * MS + number * 10 * US, at * MS + number * 10 * US + 9 * US, correlation_id=at)
        for at, size in enumerate(sizes)
        for number in range(size)
    ]
    calls = [call("hipGraphLaunch", at * MS - 20 * US, at * MS - 9 * US, at) for at in range(len(sizes))]
    return trace(dispatches=kernels, api_calls=[*calls, *more_calls])


def waited(after: int) -> Row:
    return call("hipDeviceSynchronize", after * MS, after * MS + 10 * US, 10_000)


def test_replays_without_kernels_come_first() -> None:
    finding = first(replayed([30] * 4 + [0] * 28, waited(32)))
    assert (finding.kind, finding.id) == ("unrecorded-work", "graph-kernels-lost")
    assert "28 of 32 graph replays left no kernel" in finding.title
    assert "about 840 kernels and copies are missing" in said(finding)


def test_replays_with_fewer_kernels_are_lost_work() -> None:
    finding = first(replayed([30, 30, 11, 30, 0, 30, 17, 30], waited(8)))
    assert "3 of 8 graph replays left fewer kernels than others" in finding.title
    assert "1 of them none" in said(finding)


def test_no_replay_at_all_left_a_kernel() -> None:
    calls = [call("hipGraphLaunch", at * MS, at * MS + US, at) for at in range(8)]
    other = [kernel("k", 9 * MS, 10 * MS, correlation_id=99)]
    launch = call("hipLaunchKernel", 8 * MS, 8 * MS + US, 99)
    finding = first(trace(dispatches=other, api_calls=[*calls, launch]))
    assert "8 of 8 graph replays left no kernel" in finding.title


@pytest.mark.parametrize(
    "sizes",
    [
        [30] * 8,
        [30, 30, 200, 200, 30, 200],  # two graphs
        [30, 30, 29, 30, 28, 30],  # batch sizes differ by a kernel
        [30, 30, 10, 30, 30],  # a small graph, once
    ],
)
def test_replays_alike_are_no_doubt(sizes: Sequence[int]) -> None:
    assert doubts(replayed(sizes, waited(len(sizes)))) == ()


def test_smaller_graphs_with_kernels_of_their_own_are_whole() -> None:
    sizes = {"large": 30, "small": 12, "tiny": 5, "least": 2}
    order = ["large", "large", "small", "large", "tiny", "large", "least", "large"]
    kernels = [
        kernel(name, at * MS + number * US, at * MS + number * US + 900 + at, correlation_id=at)
        for at, name in enumerate(order)
        for number in range(sizes[name])
    ]
    calls = [call("hipGraphLaunch", at * MS - 20 * US, at * MS - 9 * US, at) for at in range(len(order))]
    assert doubts(trace(dispatches=kernels, api_calls=calls)) == ()


def test_a_replay_that_the_recording_ended_before_is_no_doubt() -> None:
    assert doubts(replayed([30] * 8 + [0])) == ()


def test_a_part_of_a_recording_may_end_before_what_it_waits_for() -> None:
    whole = replayed([30] * 4 + [0] * 4, waited(8))
    assert doubts(whole)
    assert doubts(whole.described(RunInfo(window="0s..1s"))) == ()


def test_graph_kernels_without_a_link_are_not_lost() -> None:
    kernels = [kernel("k", at * MS, at * MS + 900 * US) for at in range(32)]
    calls = [call("hipGraphLaunch", at * MS - 20 * US, at * MS - 9 * US, at) for at in range(32)]
    assert doubts(trace(dispatches=kernels, api_calls=[*calls, waited(33)])) == ()


def launched(kernels: Sequence[int], launches: int, *more_calls: Row) -> Trace:
    return trace(
        dispatches=[kernel("k", at * MS, at * MS + 900 * US, correlation_id=at) for at in kernels],
        api_calls=[
            *(call("hipLaunchKernel", at * MS - 20 * US, at * MS - 9 * US, at) for at in range(launches)),
            *more_calls,
        ],
    )


def test_launches_that_leave_nothing_are_lost_work() -> None:
    finding = first(launched(range(0, 100, 2), 100))
    assert (finding.kind, finding.id) == ("unrecorded-work", "kernels-lost")
    assert finding.title.startswith("49 of 99 launches left no kernel")  # the last may not have run yet


def test_copies_without_the_kernels_between_them_are_half_of_the_work() -> None:
    copies = [{"kind": "H2D", "start_ns": at * MS, "end_ns": at * MS + US} for at in range(9)]
    calls = [call("hipLaunchKernel", at * MS, at * MS + US) for at in range(9)]
    assert first(trace(copies=copies, api_calls=calls)).id == "kernels-lost"


def copying(*numbers: int, **described: str) -> Trace:
    """Copies without any kernel, and calls that copy, with these correlation ids."""
    copies = [{"kind": "H2D", "start_ns": at * MS, "end_ns": at * MS + US} for at in numbers]
    calls = [call("hipMemcpy", at * MS, at * MS + US, at) for at in numbers]
    return trace(copies=copies, api_calls=calls).described(RunInfo(**described))  # type: ignore[arg-type]


def test_copies_and_their_calls_alone_do_not_tell_what_ran_between_them() -> None:
    finding = first(copying(*range(1, 10)))
    assert (finding.kind, finding.id) == ("unrecorded-work", "only-copies")
    assert "9 calls of the host, and no launch of a kernel among them" in said(finding)
    assert "missing" not in said(finding)


def test_ids_that_are_missing_say_that_calls_were_left_out() -> None:
    assert "9 of 17 correlation ids" not in said(first(copying(*range(1, 10))))
    assert "8 of 17 correlation ids are missing" in said(first(copying(*range(1, 18, 2))))


def test_a_part_of_a_recording_may_launch_nothing_unless_calls_were_left_out() -> None:
    assert doubts(copying(*range(1, 10), window="0s..1s")) == ()
    assert first(copying(*range(1, 18, 2), window="0s..1s")).id == "only-copies"


def test_without_kernels_idle_time_is_not_judged() -> None:
    findings = examine(copying(*range(1, 100)), "copies").findings
    assert [finding.time_at_stake_ns for finding in findings] == [None]


def test_start_up_alone_has_no_worth() -> None:
    calls = [call("hsa_queue_create", 0, 9 * MS), call("hsa_signal_create", 9 * MS, 9 * MS + US)]
    finding = first(trace(api_calls=calls))
    assert (finding.kind, finding.time_at_stake_ns) == ("startup", None)


def test_launches_that_a_graph_captures_leave_nothing() -> None:
    captured = (
        call("hipStreamBeginCapture", 50 * MS - 30 * US, 50 * MS - 29 * US),
        call("hipStreamEndCapture", 70 * MS - 30 * US, 70 * MS - 29 * US),
    )
    assert doubts(launched([*range(50), *range(70, 100)], 100, *captured)) == ()


def held_back(*, launched_at: int, host: str, until: int, copying: bool = False) -> Trace:
    """A kernel, then one on another stream that begins at `until` although it was launched long before."""
    kernels = [
        kernel("earlier", 10 * US, 20 * US, correlation_id=1),
        kernel("awaited", until, until + 10 * MS, correlation_id=2, stream_id=3),
    ]
    calls = [
        call("hipLaunchKernel", 0, 5 * US, 1),
        call("hipLaunchKernel", launched_at, launched_at + 5 * US, 2),
        call(host, 100 * US, until + 50 * US, 3),
    ]
    copies = [{"kind": "H2D", "start_ns": 30 * US, "end_ns": until - US, "agent_id": 0, "stream_id": 3}]
    recorded = {"copies": copies} if copying else {}
    return trace((), (), dispatches=kernels, api_calls=calls, **recorded)


def test_a_launch_held_back_by_nothing_recorded_waits_for_other_work() -> None:
    finding = first(held_back(launched_at=50 * US, host="hipMemcpyWithStream", until=463 * MS))
    assert (finding.kind, finding.id) == ("unrecorded-work", "waits-for-unrecorded-work")
    assert "463 ms" in finding.title
    assert "hipMemcpyWithStream" in said(finding)
    assert "idle" not in finding.title


def test_a_host_that_waits_for_nothing_recorded_waits_for_other_work() -> None:
    finding = first(held_back(launched_at=463 * MS - 10 * US, host="hipDeviceSynchronize", until=463 * MS))
    assert "before awaited the host waited 463 ms" in said(finding)


def test_a_recorded_copy_is_what_was_waited_for() -> None:
    recording = held_back(launched_at=50 * US, host="hipMemcpyWithStream", until=463 * MS, copying=True)
    assert doubts(recording) == ()


def test_a_host_that_does_something_else_leaves_the_gpu_idle() -> None:
    assert doubts(held_back(launched_at=463 * MS - 10 * US, host="hipMalloc", until=463 * MS)) == ()


def test_a_stream_may_wait_for_a_function_of_the_host() -> None:
    assert doubts(held_back(launched_at=50 * US, host="hipLaunchHostFunc", until=463 * MS)) == ()
