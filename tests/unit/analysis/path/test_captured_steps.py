"""Where one step of many was recorded, capture takes in all of it, not only what repeats within."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.graph import build
from rocm_perf.analysis.path.joined import Captured
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, marked, trace

EVERY_NS, CALL_NS, KERNEL_NS = 50_000, 5_000, 2_000
NAMES = ["embed", *("norm", "gemm", "add") * 6, "head"]


def one_step(*, numbered: bool, between: str = "") -> Trace:
    """Launches of a model's forward pass, each a while after the one before."""
    calls, kernels = [], []
    for number, name in enumerate(NAMES, start=1):
        at = number * EVERY_NS
        calls.append(call("hipLaunchKernel", at, at + CALL_NS, correlation=number))
        kernels.append(kernel(name, at + CALL_NS, at + CALL_NS + KERNEL_NS, correlation_id=number))
        if between:
            calls.append(call(between, at + 20_000, at + 20_300, correlation=1000 + number))
    end = (len(NAMES) + 1) * EVERY_NS
    name = "ProfilerStep#6" if numbered else "forward"
    return trace(dispatches=kernels, api_calls=calls, ranges=[marked(name, 0, end)])


@pytest.mark.parametrize("between", ["", "hipMemsetAsync", "hipEventRecord", "hipFuncSetAttribute"])
def test_the_one_recorded_step_becomes_one_graph(between: str) -> None:
    projection = whatif(build(one_step(numbered=True, between=between)), Captured())
    assert projection.assumptions[0].startswith(f"{len(NAMES)} launches become 1 graph launch ")


def test_without_a_numbered_step_only_what_repeats_is_captured() -> None:
    projection = whatif(build(one_step(numbered=False)), Captured())
    assert projection.assumptions[0].startswith("18 launches become 6 graph launches ")


def test_a_wait_divides_the_step() -> None:
    projection = whatif(build(one_step(numbered=True, between="hipDeviceSynchronize")), Captured())
    assert projection.assumptions[0].startswith("0 launches become 0 graph launches ")
