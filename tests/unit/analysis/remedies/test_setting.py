"""Advice fits the program: its vendor, its framework, and what it does already."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.remedies.setting import Setting, setting, setting_of
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, trace

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
    assert "eplay" not in said(recording)


NVIDIA = Setting(vendor="nvidia", recorded=("host calls",))


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
    assert replace(NVIDIA, vendor="amd").worded(ours) == ours


def test_a_name_that_is_such_a_word_stays() -> None:
    names = frozenset(("copy <LDS>", "other"))
    said = NVIDIA.worded("copy <LDS> is slow: LDS", names)
    assert said == "copy <LDS> is slow: shared memory"


def operators(*names: str) -> list[Row]:
    return [{"name": name, "category": "operator", "start_ns": 0, "end_ns": 9} for name in names]


def recorded_by(recording: Trace, tool: str) -> Trace:
    return recording.described(RunInfo(tool=tool))


@pytest.mark.parametrize(
    ("recording", "frameworks"),
    [
        (trace(dispatches=[kernel("mul_mat_q<(ggml_type)12, 64>", 0, 9)]), ("llama.cpp",)),
        (trace(dispatches=[kernel("cupy_add__float32_float32_float32", 0, 9)]), ("cupy",)),
        (trace(dispatches=[kernel("partial_mapreduce_grid(identity, add_sum)", 0, 9)]), ("julia",)),
        (trace(dispatches=[kernel("hip_parallel_launch_local_memory<Axpby>", 0, 9)]), ("kokkos",)),
        (trace(dispatches=[kernel("loop_add_fusion_3", 0, 9)]), ("jax",)),
        (trace(dispatches=[kernel("EigenMetaKernel<TensorEvaluator>", 0, 9)]), ("tensorflow",)),
        (trace(dispatches=[kernel("my_own", 0, 9)]), ()),
        (trace(dispatches=[kernel("k", 0, 9)], api_calls=[call("MPI_Waitall", 0, 9)]), ("mpi",)),
        (trace(ops=operators("/venv/transformers/trainer.py(9): step")), ("transformers", "torch")),
        (trace(ops=operators("/venv/lightning/pytorch/loops/fit_loop.py(9): run")), ("lightning", "torch")),
        (trace(ops=operators("sglang::rope", "vllm::rms_norm")), ("sglang", "torch")),
        (recorded_by(trace(dispatches=[kernel("k", 0, 9)]), "torch.profiler"), ("torch",)),
        (recorded_by(trace(dispatches=[kernel("k", 0, 9)]), "jax.profiler"), ("jax",)),
        (
            recorded_by(trace(dispatches=[kernel("EigenMetaKernel<T>", 0, 9)]), "jax.profiler"),
            ("tensorflow",),
        ),
    ],
)
def test_frameworks_are_known_by_names_and_recorders(recording: Trace, frameworks: tuple[str, ...]) -> None:
    assert setting(recording).frameworks == frameworks


def test_one_kernel_of_a_framework_among_many_does_not_make_a_program_of_it() -> None:
    kernels = [kernel("mine", 10 * n, 10 * n + 9) for n in range(99)]
    assert setting(trace(dispatches=[*kernels, kernel("cupy_copy__float32", 990, 999)])).frameworks == ()


@pytest.mark.parametrize(
    ("recording", "vendor"),
    [
        (trace(agents=[{"agent_id": 0, "kind": "GPU", "gfx": "sm_75"}]), "nvidia"),
        (trace(agents=[{"agent_id": 0, "kind": "GPU", "name": "Tesla T4"}]), "nvidia"),
        (trace(agents=[{"agent_id": 0, "kind": "GPU", "name": "AMD Radeon Graphics"}]), "amd"),
        (trace(api_calls=[call("cuLaunchKernel", 0, 9)]), "nvidia"),
        (trace(api_calls=[call("hsa_signal_wait", 0, 9)]), "amd"),
        (recorded_by(trace(dispatches=[kernel("k", 0, 9)]), "nsys"), "nvidia"),
        (recorded_by(trace(dispatches=[kernel("k", 0, 9)]), "rocprofv3"), "amd"),
        (trace(dispatches=[kernel("ampere_sgemm_128x64_tn", 0, 9)]), "nvidia"),
        (trace(dispatches=[kernel("k", 0, 9)]), "amd"),
    ],
)
def test_the_vendor_is_known_by_gpus_calls_recorders_and_kernels(recording: Trace, vendor: str) -> None:
    assert setting(recording).vendor == vendor


def test_a_recording_and_its_document_are_one_setting() -> None:
    recording = recorded_by(slow_host("cudaGraphLaunch", ATEN, per_launch=3), "nsys")
    found = setting(recording)
    assert found == setting_of(examine(recording, "x"))
    assert (found.vendor, found.frameworks, found.recorders) == ("nvidia", ("torch",), ("nsys",))
    assert found.recorded == ("kernels", "host calls", "graphs used")


def test_kernels_keep_their_names() -> None:
    kernels = [kernel("my roctx loop", 0, 900 * US)]
    calls = [call("cudaLaunchKernel", 0, US, 1)]
    first = examine(trace(dispatches=kernels, api_calls=calls), "x").findings[0]
    assert first.title.startswith("my roctx loop takes")
