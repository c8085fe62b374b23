"""Which serving step an operator and its kernels lie in."""

from __future__ import annotations

from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.roofline.build import roofline
from tests.unit.analysis.traces import call, trace

STEP = "execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk100sqsq4sqsk100)"
SHAPES = "[[4, 2, 8], [4, 2, 8], [4, 2, 8], [4, 2, 8]]"
TYPES = '["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]'


def test_attention_takes_the_lengths_of_the_step_that_it_ran_in() -> None:
    """100 pairs of 2 heads of 8: 4 * 2 * 8 * 100; the call behind the step has none."""
    rows = [
        {"name": "vllm::unified_attention_with_output", "category": "operator", "start_ns": start, "end_ns": start + 50,
         "op_id": start, "pid": 1, "tid": 1, "shapes": SHAPES, "dtypes": TYPES}
        for start in (100, 1000)
    ]  # fmt: skip
    launches = [
        call("hipLaunchKernel", 110, 111, 1, pid=1, tid=1),
        call("hipLaunchKernel", 1010, 1011, 2, pid=1, tid=1),
    ]
    ran = [
        {"kernel": name, "dispatch_id": n, "start_ns": 2000 * n, "end_ns": 2000 * n + 1000, "correlation_id": n,
         "pid": 1, "agent_id": 0}
        for n, name in ((1, "first"), (2, "second"))
    ]  # fmt: skip
    step = {"name": STEP, "source": "record_function", "start_ns": 50, "end_ns": 500, "pid": 1, "tid": 1}
    recording = trace(ops=rows, api_calls=launches, dispatches=ran, ranges=[step])
    (category,) = operators(recording).categories
    (shape,) = category.operators[0].shapes
    assert "context lengths" in str(shape.flops.unavailable)  # of one of its two calls
    points = {row.kernel: row for row in roofline(recording).kernels}
    assert points["first"].bytes.value == 2 * 100 * 2 * 8 * 2 + 2 * (2 * 4 * 2 * 8)
    assert "context lengths" in points["second"].reason
