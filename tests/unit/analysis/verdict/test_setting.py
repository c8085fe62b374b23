"""Advice fits the program: its vendor, its framework, and what it does already."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.setting import setting
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, trace

US = 1_000
ATEN = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"


def slow_host(launch: str, name: str = "k", per_launch: int = 1) -> Trace:
    """A kernel of 3 us every 50 us; a graph launches several."""
    starts = [50 * US * place for place in range(60)]
    kernels = [
        kernel(name, at + (6 + 4 * part) * US, at + (9 + 4 * part) * US, correlation_id=n + 1)
        for n, at in enumerate(starts)
        for part in range(per_launch)
    ]
    return trace(
        dispatches=kernels, api_calls=[call(launch, at, at + 5 * US, n + 1) for n, at in enumerate(starts)]
    )


def said(recording: Trace) -> str:
    (one,) = (finding for finding in examine(recording, "x").findings if finding.kind == "host-bound")
    return " ".join((one.title, *one.evidence, one.remedy))


@pytest.mark.parametrize(
    ("launch", "graph", "other"),
    [("hipLaunchKernel", "HIP graph", "CUDA"), ("cudaLaunchKernel", "CUDA graph", "HIP")],
)
def test_graphs_are_called_as_their_vendor_does(launch: str, graph: str, other: str) -> None:
    text = said(slow_host(launch))
    assert graph in text
    assert other not in text
    assert "torch" not in text


def test_torch_is_advised_where_its_kernels_run() -> None:
    assert "torch.cuda.graph" in said(slow_host("hipLaunchKernel", ATEN))


def test_graphs_are_not_advised_where_they_are_used() -> None:
    recording = slow_host("hipGraphLaunch", per_launch=3)
    assert setting(recording).uses_graphs
    assert "Graphs are used already" in said(recording)
