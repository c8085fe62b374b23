"""Serving loops whose truth is known: steps with planted lengths, launched in time or ahead of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

US = 1_000
MS = 1_000 * US


class Planted(NamedTuple):
    """One step: what its range is called, and how long its two kernels take, together `gpu_ns`."""

    name: str
    gpu_ns: int
    kernels: tuple[str, str] = ("gemm_kernel", "flash_attn_kernel")
    stall_ns: int = 0  # that the host of a loop that runs ahead takes longer in it


def in_time(steps: Sequence[Planted], *, launch_ns: int = 100 * US, after_ns: int = 300 * US) -> Trace:
    """A host that launches a step, waits for it, works `after_ns` inside of the range, and begins the next at once."""
    rows = _Rows()
    now = 0
    for step in steps:
        rows.launch(step, at=now, gpu_start=now + launch_ns)
        done = now + launch_ns + step.gpu_ns
        rows.waits(now + launch_ns, done)
        rows.ranges.append(marked(step.name, now, done + after_ns, pid=1, tid=1))
        now = done + after_ns
    return rows.trace()


def ahead(steps: Sequence[Planted], *, host_ns: int = 500 * US, queued_ns: int = 2 * MS) -> Trace:
    """A host that takes `host_ns` to launch a step and never waits; the GPU begins after `queued_ns`, never idle."""
    rows = _Rows()
    now, gpu = 0, queued_ns
    for step in steps:
        rows.launch(step, at=now, gpu_start=gpu)
        done = now + host_ns + step.stall_ns
        rows.ranges.append(marked(step.name, now, done, pid=1, tid=1))
        now, gpu = done, gpu + step.gpu_ns
    return rows.trace()


class _Rows:
    def __init__(self) -> None:
        self.kernels: list[Row] = []
        self.calls: list[Row] = []
        self.ranges: list[Row] = []
        self.number = 0

    def launch(self, step: Planted, *, at: int, gpu_start: int) -> None:
        first = step.gpu_ns * 2 // 5
        for place, (name, length) in enumerate(zip(step.kernels, (first, step.gpu_ns - first), strict=True)):
            self.number += 1
            self.calls.append(
                call("hipLaunchKernel", at + place * US, at + (place + 1) * US, self.number, pid=1, tid=1)
            )
            begin = gpu_start + place * first
            self.kernels.append(kernel(name, begin, begin + length, correlation_id=self.number, pid=1, tid=1))

    def waits(self, since: int, until: int) -> None:
        self.number += 1
        self.calls.append(call("hipStreamSynchronize", since, until, self.number, pid=1, tid=1))

    def trace(self) -> Trace:
        return trace(dispatches=self.kernels, api_calls=self.calls, ranges=self.ranges)
