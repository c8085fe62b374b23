"""What a thread trace or PC samples tell of a kernel, as readings and causes of its table."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.limits.traced import traced_limits
from tests.unit.analysis.traces import Row, trace

KERNEL = "reduce(float*)"


def instruction(text: str, latency: int, stall: int, source: str | None = None) -> Row:
    return {
        "kernel": KERNEL,
        "text": text,
        "source": source,
        "hits": 10,
        "latency_cycles": latency,
        "stall_cycles": stall,
        "idle_cycles": 0,
    }


def sample(text: str) -> Row:
    return {"time_ns": 0, "dispatch_id": 1, "instruction": text, "method": "host_trap"}


def test_waits_at_barriers_are_a_cause_with_the_line_where_they_are() -> None:
    recorded = trace(
        instructions=[
            instruction("s_barrier", 700, 650, "reduce.hip:12"),
            instruction("v_add_f32 v0, v0, v1", 200, 0),
            instruction("s_waitcnt vmcnt(0)", 100, 90),
        ]
    )
    readings, (cause,) = traced_limits(recorded)[KERNEL]
    assert cause.id == "barriers"
    assert cause.certainty == "proven"
    assert cause.share == pytest.approx(0.65)
    assert cause.saves == pytest.approx(0.65)
    assert cause.evidence == ("costliest waits: s_barrier (reduce.hip:12) 70.0 %",)
    assert [reading.value.value for reading in readings] == pytest.approx([0.65, 0.09])
    assert {reading.source for reading in readings} == {"thread trace"}


def test_a_kernel_that_computes_waits_for_nothing() -> None:
    recorded = trace(
        instructions=[
            instruction("v_add_f32 v0, v0, v1", 900, 50),
            instruction("s_waitcnt vmcnt(0)", 100, 90),
        ]
    )
    assert traced_limits(recorded)[KERNEL][1] == []


def test_samples_at_waits_for_memory_are_a_cause() -> None:
    samples = [*[sample("s_waitcnt vmcnt(0)")] * 4, *[sample("v_add_f32 v0, v0, v1")] * 6]
    recorded = trace(dispatches=[{"kernel": KERNEL, "dispatch_id": 1}], pc_samples=samples)
    _, (cause,) = traced_limits(recorded)[KERNEL]
    assert (cause.id, cause.certainty, cause.source) == ("memory-latency", "likely", "PC samples")
    assert cause.title == "its waves wait for memory in 40.0 % of its samples"
