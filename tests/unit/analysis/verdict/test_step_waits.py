"""Waits that a graph cannot hold: those that found something to wait for."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rocm_perf.analysis.graph import build
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.verdict.step_waits import waits_first
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, trace

MAIN: dict[str, Any] = {"pid": 7, "tid": 7}
STEPS, EVERY_NS = 4, 100_000
TORCH = replace(setting(trace(dispatches=[kernel("k", 0, 1)])), frameworks=("torch",))


def loop(*waits: str, kernel_ns: int) -> Trace:
    """In each step, two kernels of that length, and a wait 20 us after each launch."""
    calls: list[Row] = []
    kernels: list[Row] = []
    for number in range(2 * STEPS):
        at, correlation = number * EVERY_NS, number + 1
        calls.append(call("cudaLaunchKernel", at, at + 5_000, correlation, **MAIN))
        ends = at + 6_000 + kernel_ns
        kernels.append(kernel("k", at + 6_000, ends, correlation_id=correlation, pid=7))
        name = waits[number % len(waits)]
        calls.append(call(name, at + 20_000, max(at + 21_000, ends + 2_000), 100 + number, **MAIN))
    return trace(api_calls=calls, dispatches=kernels)


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("cudaStreamSynchronize", ".item()"),
        ("cudaDeviceSynchronize", "torch.cuda.synchronize()"),
        ("cudaEventSynchronize", "Event.synchronize()"),
    ],
)
def test_waits_of_each_kind_have_advice_of_their_own(name: str, example: str) -> None:
    said = waits_first(build(loop(name, kernel_ns=40_000)), STEPS, TORCH)
    assert said.startswith("The host waits 2 times in a step")
    assert example in said


@pytest.mark.parametrize("name", ["cudaStreamSynchronize", "cudaEventSynchronize"])
def test_a_call_that_finds_nothing_to_wait_for_is_no_wait(name: str) -> None:
    assert waits_first(build(loop(name, kernel_ns=3_000)), STEPS, TORCH) == ""


def test_both_kinds_are_named_and_nothing_is_where_steps_are_unknown() -> None:
    graph = build(loop("cudaStreamSynchronize", "cudaDeviceSynchronize", kernel_ns=40_000))
    said = waits_first(graph, STEPS, TORCH)
    assert ".item()" in said
    assert "torch.cuda.synchronize()" in said
    assert waits_first(graph, 0, TORCH) == ""


def test_a_copy_that_blocks_and_the_wait_for_it_are_one_wait() -> None:
    """As .item() makes them: the call that copies returns as the copy ends, and the stream is waited for."""
    calls, kernels, copies = [], [], []
    for step in range(STEPS):
        at, first = step * EVERY_NS, 2 * step + 1
        calls += [
            call("cudaLaunchKernel", at, at + 5_000, first, **MAIN),
            call("cudaMemcpyAsync", at + 6_000, at + 49_000, first + 1, **MAIN),
            call("cudaStreamSynchronize", at + 49_500, at + 52_000, **MAIN),
        ]
        kernels.append(kernel("k", at + 6_000, at + 46_000, correlation_id=first, pid=7))
        copies.append(
            {"kind": "D2H", "size_bytes": 4, "start_ns": at + 47_000, "end_ns": at + 49_600, "agent_id": 0,
             "stream_id": 0, "correlation_id": first + 1, "pid": 7}
        )  # fmt: skip
    graph = build(trace(api_calls=calls, dispatches=kernels, copies=copies))
    assert waits_first(graph, STEPS, TORCH) == ""  # one a step, at its end
