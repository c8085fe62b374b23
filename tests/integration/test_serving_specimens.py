"""Real recordings of servers: what someone who reads them event by event would say of their steps."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from rocm_perf.analysis.serving.build import serving
from rocm_perf.analysis.serving.part import of_kind
from rocm_perf.analysis.time.steps import steps
from tests.recordings import recording

MS = 1e6


class Expert(NamedTuple):
    """Read in the raw events: the annotation's numbers, first start and last end of the GPU work that it launched."""

    path: str
    kind: str
    requests: int
    tokens: int
    step_ms: float
    host_ms: float
    busy: float
    kernels: int
    family: str


EXPERTS = [
    # Its 463 ms in hipMemcpyWithStream are a wait for the step before, which is not in the recording.
    Expert(
        path="data/torch_trace/AMD-AGI_TraceLens__sglang_Qwen3-8B_decode.json.gz",
        kind="decode", requests=32, tokens=32, step_ms=10.45, host_ms=465.7, busy=0.935, kernels=555, family="gemm",
    ),
    # The host is through before the GPU begins: only the GPU's time counts.
    Expert(
        path="data/torch_trace/AMD-AGI_TraceLens__vllm_decode_hipgraph.json.gz",
        kind="decode", requests=32, tokens=32, step_ms=10.74, host_ms=2.41, busy=0.998, kernels=425, family="gemm",
    ),
    # Nine prompts of 8,155 tokens together with 37 requests that go on; its 24 layers are no steps.
    Expert(
        path="frameworks/AMD-AGI_TraceLens__vllm_piecewise_execution.json.gz",
        kind="mixed", requests=46, tokens=8192, step_ms=156.5, host_ms=26.35, busy=0.998, kernels=413, family="gemm",
    ),
]  # fmt: skip


@pytest.mark.parametrize("expert", EXPERTS, ids=lambda expert: expert.path.split("__")[1])
def test_a_step_is_what_an_expert_reads_in_the_events(specimens: Path, expert: Expert) -> None:
    file = specimens.parent / expert.path
    if not file.exists():
        pytest.skip("the recordings of frameworks are not beside the specimens")
    trace = recording(file)
    (row,) = serving(trace).rows
    assert (row.kind, row.requests, row.tokens, row.steps) == (expert.kind, expert.requests, expert.tokens, 1)
    assert row.median_ns / MS == pytest.approx(expert.step_ms, rel=0.001)
    assert row.host_ns / MS == pytest.approx(expert.host_ms, rel=0.001)
    assert row.busy.value == pytest.approx(expert.busy, abs=0.001)
    assert (row.kernels, row.families[0].family) == (expert.kernels, expert.family)
    assert row.ns_per_token.value == row.total_ns / expert.tokens
    assert row.held_back_by == "kernel"
    assert steps(trace).unavailable
    part = of_kind(trace, expert.kind)  # type: ignore[arg-type]
    assert serving(part).rows[0].total_ns == pytest.approx(row.total_ns, rel=0.001)
    assert part.rows("dispatches") == expert.kernels
