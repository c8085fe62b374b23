"""Advice fits the program: its vendor, its framework, and what it does already."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.setting import Setting, setting
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


NVIDIA = Setting(nvidia=True, torch=False, jax=False, host_recorded=True, uses_graphs=False)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("HIP graphs, or one HIP graph", "CUDA graphs, or one CUDA graph"),
        ("ranges (roctx) around its parts", "ranges (NVTX) around its parts"),
        ("conflicts in LDS: pad it", "conflicts in shared memory: pad it"),
        ("gemm_LDSM_N takes 9 %", "gemm_LDSM_N takes 9 %"),
        ("inside roctx_test", "inside roctx_test"),
        ("my::LDS::copy", "my::LDS::copy"),
    ],
)
def test_words_are_the_vendors_and_names_are_not(ours: str, theirs: str) -> None:
    assert NVIDIA.worded(ours) == theirs
    assert replace(NVIDIA, nvidia=False).worded(ours) == ours


def test_a_name_that_is_such_a_word_stays() -> None:
    names = frozenset(("copy <LDS>", "other"))
    said = NVIDIA.worded("copy <LDS> is slow: LDS", names)
    assert said == "copy <LDS> is slow: shared memory"


def test_kernels_keep_their_names() -> None:
    kernels = [kernel("my roctx loop", 0, 900 * US)]
    calls = [call("cudaLaunchKernel", 0, US, 1)]
    first = examine(trace(dispatches=kernels, api_calls=calls), "x").findings[0]
    assert first.title.startswith("my roctx loop takes")
