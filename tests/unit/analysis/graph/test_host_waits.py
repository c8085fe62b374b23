"""What holds the host: copies, full queues, and other threads."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rocm_perf.analysis.graph import build, forward
from rocm_perf.analysis.path.changes import CopiesAsync, FasterKernels, SyncsRemoved
from rocm_perf.analysis.path.critical_path import critical_path
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, trace

MAIN: dict[str, Any] = {"pid": 7, "tid": 1}
BACKWARD: dict[str, Any] = {"pid": 7, "tid": 2}


def launched(name: str, start: int, end: int, correlation: int) -> Row:
    return kernel(name, start, end, correlation_id=correlation, pid=7)


def read_backs(copies: bool) -> Trace:
    """Ten times: a kernel of 100 us, and a call that copies its result of 4 bytes to pageable memory."""
    calls, kernels, copied = [], [], []
    for number in range(10):
        at = number * 120_000
        calls += [
            call("cudaLaunchKernel", at, at + 5_000, 2 * number + 1, **MAIN),
            call("cudaMemcpyAsync", at + 6_000, at + 115_000, 2 * number + 2, **MAIN),
        ]
        kernels.append(launched("a", at + 8_000, at + 108_000, 2 * number + 1))
        copied.append(
            {"kind": "D2H", "size_bytes": 4, "start_ns": at + 109_000, "end_ns": at + 110_000, "agent_id": 0,
             "stream_id": 0, "correlation_id": 2 * number + 2, "pid": 7}
        )  # fmt: skip
    made = trace(api_calls=calls, dispatches=kernels, copies=copied)
    return made if copies else Trace({name: made.table(name) for name in ("api_calls", "dispatches")})


@pytest.mark.parametrize("copies", [True, False])
def test_a_read_back_is_a_synchronisation_recorded_or_not(copies: bool) -> None:
    graph = build(read_backs(copies))
    assert critical_path(graph).by_kind["kernel"] == 1_000_000
    assert whatif(graph, FasterKernels("a", 2)).saved_ns == 500_000
    hoisted = whatif(graph, SyncsRemoved())
    assert hoisted.wall_ns == pytest.approx(1_000_000 + 10 * (1_500 + 1_000 * copies), rel=0.03)
    assert any("9 synchronising calls vanish" in line for line in hoisted.assumptions)


def test_a_pageable_copy_holds_its_call_though_its_last_piece_lands_later() -> None:
    calls = [
        call("cudaMemcpy", 0, 950_000, 1, **MAIN),
        call("cudaLaunchKernel", 960_000, 965_000, 2, **MAIN),
        call("cudaMemcpyAsync", 970_000, 975_000, 3, **MAIN),
    ]
    place = {"agent_id": 0, "stream_id": 0, "pid": 7, "kind": "H2D"}
    copies = [
        {"start_ns": 10_000, "end_ns": 1_000_000, "size_bytes": 10**7, "correlation_id": 1, **place},
        {"start_ns": 1_030_000, "end_ns": 1_130_000, "size_bytes": 10**7, "correlation_id": 3, **place},
    ]
    rows = [launched("a", 1_010_000, 1_020_000, 2)]
    graph = build(trace(api_calls=calls, dispatches=rows, copies=copies))
    assert forward(graph).to_list() == graph.nodes["start_ns"].to_list()
    assert critical_path(graph).by_kind["copy"] == pytest.approx(1_040_000, abs=50_000)
    assert whatif(graph, CopiesAsync()).saved_ns == pytest.approx(890_000, rel=0.05)


def full_queue() -> Trace:
    """Kernels of 100 us, launched in 5 us each until 300 are in the queue; then each launch waits for one to end."""
    launches, kernels = [], []
    at = 0
    for number in range(600):
        start = 10_000 + number * 100_000
        until = max(at + 5_000, start - 300 * 100_000 + 1_000)
        launches.append(call("hipLaunchKernel", at, until, number + 1, **MAIN))
        kernels.append(launched("a", start, start + 100_000, number + 1))
        at = until + 1_000
    sync = call("hipDeviceSynchronize", at, 60_020_000, **MAIN)
    return trace(api_calls=[*launches, sync], dispatches=kernels)


def test_a_launch_that_waits_for_room_in_its_queue_follows_the_gpu() -> None:
    graph = build(full_queue())
    saved = whatif(graph, FasterKernels("a", 4)).saved_ns
    assert saved == pytest.approx(0.75 * 60_000_000, rel=0.01)


def taking_turns() -> Trace:
    """Two threads, ten launches of 5 us each in turn; a turn begins 100 us after the other's, and kernels take 2 us."""
    calls, kernels = [], []
    for number in range(100):
        at = number * 10_000 + number // 10 * 100_000
        thread = BACKWARD if number // 10 % 2 else MAIN
        calls.append(call("hipLaunchKernel", at, at + 5_000, number + 1, **thread))
        kernels.append(launched("a", at + 7_000, at + 9_000, number + 1))
    return trace(api_calls=calls, dispatches=kernels)


def test_the_silence_of_a_thread_while_another_has_its_turn_is_not_its_work() -> None:
    graph = build(taking_turns())
    assert {"turn"} <= set(graph.edges["rule"])
    assert critical_path(graph).by_kind["api"] == 100 * 5_000
    assert forward(graph).to_list() == graph.nodes["start_ns"].to_list()


def one_backward(last_thread: dict[str, Any]) -> Trace:
    """Ten launches on one thread, ten on another, and two more at the end of the recording."""
    calls, kernels = [], []
    for number in range(22):
        at = number * 10_000 + number // 10 * 100_000
        thread = (MAIN, BACKWARD, last_thread)[number // 10]
        calls.append(call("hipLaunchKernel", at, at + 5_000, number + 1, **thread))
        kernels.append(launched("a", at + 7_000, at + 9_000, number + 1))
    return trace(api_calls=calls, dispatches=kernels)


def test_a_thread_that_resumes_as_the_recording_ends_waited_for_the_turn_before() -> None:
    graph = build(one_backward(MAIN))
    assert critical_path(graph).by_kind["api"] == 22 * 5_000


def test_a_thread_that_first_calls_as_the_recording_ends_had_no_turn() -> None:
    turns = build(one_backward({"pid": 7, "tid": 3})).edges.filter(pl.col("rule") == "turn")
    assert turns.height == 1  # to the second thread


def test_threads_side_by_side_do_not_take_turns() -> None:
    calls, kernels = [], []
    for number in range(200):
        at = number * 10_000
        calls.append(call("hipLaunchKernel", at, at + 4_000, number + 1, pid=7, tid=number % 2))
        kernels.append(launched("a", at + 7_000, at + 9_000, number + 1))
    assert "turn" not in set(build(trace(api_calls=calls, dispatches=kernels)).edges["rule"])


def default_stream(overlap: bool) -> Trace:
    """Rounds of a kernel on one stream, and of a copy on the default stream that waits for it, or does not."""
    calls, kernels, copies = [], [], []
    for number in range(6):
        at = number * 200_000
        calls += [
            call("hipLaunchKernel", at, at + 5_000, 2 * number + 1, **MAIN),
            call("hipMemcpy", at + 6_000, at + 190_000, 2 * number + 2, **MAIN),
        ]
        kernels.append({**launched("a", at + 8_000, at + 108_000, 2 * number + 1), "stream_id": 3})
        start = at + (60_000 if overlap and number == 4 else 110_000)
        copies.append(
            {"kind": "D2H", "size_bytes": 10**6, "start_ns": start, "end_ns": start + 70_000, "agent_id": 0,
             "stream_id": 0, "correlation_id": 2 * number + 2, "pid": 7}
        )  # fmt: skip
    return trace(api_calls=calls, dispatches=kernels, copies=copies)


def test_the_default_stream_and_a_stream_that_blocks_run_in_order() -> None:
    graph = build(default_stream(overlap=False))
    assert (
        graph.edges.filter(rule="default stream").height == 11
    )  # each after the other, but the first of all
    assert forward(graph).to_list() == graph.nodes["start_ns"].to_list()
    free = whatif(graph, CopiesAsync())
    assert free.wall_ns >= 6 * (100_000 + 70_000)
    beside = whatif(graph, CopiesAsync(overlapped=True))
    assert beside.wall_ns == pytest.approx(6 * 100_000 + 70_000, rel=0.05)


def test_a_stream_that_overlaps_the_default_stream_does_not_block() -> None:
    assert not build(default_stream(overlap=True)).edges.filter(rule="default stream").height


def test_a_synchronisation_after_a_pageable_copy_goes_with_it() -> None:
    """torch waits for the stream after a copy from pageable memory, which staged all but its last piece."""
    calls, kernels, copies = [], [], []
    for number in range(6):
        at, first = number * 300_000, 2 * number + 1
        calls += [
            call("cudaMemcpyAsync", at, at + 98_000, first, **MAIN),
            call("cudaStreamSynchronize", at + 98_500, at + 101_000, **MAIN),
            call("cudaLaunchKernel", at + 102_000, at + 104_000, first + 1, **MAIN),
        ]
        copies.append(
            {"kind": "H2D", "size_bytes": 10**7, "start_ns": at + 5_000, "end_ns": at + 100_000, "agent_id": 0,
             "stream_id": 0, "correlation_id": first, "pid": 7}
        )  # fmt: skip
        kernels.append(launched("a", at + 105_000, at + 299_000, first + 1))
    graph = build(trace(api_calls=calls, dispatches=kernels, copies=copies))
    beside = whatif(graph, CopiesAsync(overlapped=True))
    assert 6 * 194_000 <= beside.wall_ns <= 6 * 194_000 + 100_000  # the kernels, after the first launch


def silences(*, after_work: int, waits: bool = False, steps: int = 5) -> Trace:
    """A step launches two kernels of 400 us in 20 us; the host goes on so long after they have ended, without a call
    that waits, unless one says so in the first step."""
    calls, kernels, at = [], [], 0
    for step in range(steps):
        first = 2 * step + 1
        jitter = 7_000 * (step % 3)  # of the work, which a host with work of its own would not follow
        done = at + 820_000 + jitter
        calls += [
            call("hipModuleLaunchKernel", at, at + 10_000, first, **MAIN),
            call("hipModuleLaunchKernel", at + 10_000, at + 20_000, first + 1, **MAIN),
        ]
        kernels += [
            launched("a", at + 15_000, at + 415_000, first),
            launched("a", at + 420_000, done, first + 1),
        ]
        if waits and step == 0:
            calls.append(call("hipStreamSynchronize", at + 20_000, done + 5_000, 900, **MAIN))
        at = done + after_work
    return trace(api_calls=calls, dispatches=kernels)


def test_a_host_that_falls_silent_until_the_gpu_is_done_waits_for_it() -> None:
    graph = build(silences(after_work=30_000))
    path = critical_path(graph)
    assert path.by_kind["kernel"] > 0.9 * path.wall_ns
    assert whatif(graph, FasterKernels("a", 2)).saved_ns == pytest.approx(5 * 400_000, rel=0.03)
    hidden = graph.edges.filter(pl.col("rule") == "hidden wait")
    assert hidden["binding"].to_list() == [True] * 4
    assert hidden["lag_ns"].to_list() == [30_000] * 4


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"after_work": 300_000}, id="work of its own takes longer than the GPU's"),
        pytest.param({"after_work": -100_000}, id="it goes on before the GPU is done"),
        pytest.param({"after_work": 30_000, "waits": True}, id="a call that waits is recorded"),
        pytest.param({"after_work": 30_000, "steps": 3}, id="too few silences"),
    ],
)
def test_a_silence_alone_is_no_wait(other: dict[str, Any]) -> None:
    graph = build(silences(**other))
    assert not graph.edges.filter(pl.col("rule") == "hidden wait").height
