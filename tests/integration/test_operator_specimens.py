"""Operators, ranges, memory, energy, thread trace and PC samples on recorded specimens: each answers or says why not,
and no sum exceeds what was recorded."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.analysis.idle.queue_length import queue_lengths
from rocm_perf.analysis.kernels.instructions import thread_trace
from rocm_perf.analysis.kernels.pc_samples import pc_samples
from rocm_perf.analysis.memory.levels import memory
from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.operators.tree import BY_LAUNCH, operator_tree
from rocm_perf.analysis.program.energy import energy
from rocm_perf.analysis.program.ranges import ranges
from rocm_perf.model.results.operators import Operator, Operators
from rocm_perf.model.trace import Trace
from tests.recordings import recording

TRACELENS = "torch_trace/AMD-AGI_TraceLens__"
HTA = "torch_trace/facebookresearch_HolisticTraceAnalysis__"
TORCH = [
    f"{TRACELENS}h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    f"{TRACELENS}h100_gaunernst_bert-small-uncased__1016001.json.gz",
    f"{TRACELENS}mi300_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    f"{TRACELENS}mi300_gaunernst_bert-small-uncased__1016001.json.gz",
    f"{TRACELENS}mi300_resnet_act_checkpoint.json.gz",
    f"{TRACELENS}sglang_Qwen3-8B_decode.json.gz",
    f"{TRACELENS}torch_compile_triton.json.gz",
    f"{TRACELENS}vllm_decode_hipgraph.json.gz",
    "torch_trace/ROCm_aorta__smci350-zts-gtu-c6-25_200691.1758927066581847260.pt.trace.json.gz",
    "torch_trace/amd_HPCTrainingExamples__merged_nccl_only.json.gz",
    f"{HTA}cpu_only_rank-34.json.gz",
    f"{HTA}cupti_profiler.json.gz",
    f"{HTA}mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    f"{HTA}ns_resolution_rank-0.json.gz",
    f"{HTA}simple_add.json.gz",
]
OTHERS = [
    "rocprofv3_csv/ROCm_rocm-systems__docs_marker_api_trace.csv",
    "rocprofv3_csv/ROCm_rocm-systems__docs_memory_allocation_trace.csv",
    "rocprofv3_csv/ROCm_rocm-systems__docs_pc_sampling_stochastic_debug.csv",
    "rocprofv3_csv/ROCm_rocm-systems__docs_pc_sampling_host_trap.csv",
    "pc_sampling/doplxyz_rdna4-gfx1201-tooling-verification__o_10000_44_pc_sampling_host_trap.csv",
    "pc_sampling/ROCm_rocprof-compute-viewer__code.json.gz",
    "att/HazyResearch_HipKittens__mi325x__code.json",
    "att/iree-org_wave__wave__stats_ui_output_agent_32617_dispatch_3.csv",
    "rocprof_v2/ROCm_rocprofiler__tracer_matrix_transpose_golden_trace.txt",
    "roctracer_txt/ROCm_roctracer__roctx_test_trace.txt",
    "rpd/ROCm_rocmProfileData__matmul_result.rpd",
    "sysinfo_text/ROCm_rocm-systems__docs_rocm-smi.txt",
    "pftrace/hatchet_hatchet__python-source.proto",
]


@pytest.mark.parametrize("name", [*TORCH, *OTHERS])
def test_every_analysis_answers_or_says_why_not(specimens: Path, name: str) -> None:
    trace = recording(specimens / name)
    found = operators(trace)
    assert bool(found.categories) != bool(found.unavailable)
    assert bool(ranges(trace).rows) != bool(ranges(trace).unavailable)
    assert bool(memory(trace).rows) != bool(memory(trace).unavailable)
    assert bool(energy(trace).gpus) != bool(energy(trace).unavailable)
    assert bool(thread_trace(trace).kernels) != bool(thread_trace(trace).unavailable)
    assert bool(pc_samples(trace).kernels) != bool(pc_samples(trace).unavailable)


@pytest.mark.parametrize("name", TORCH)
def test_sums_are_bounded(specimens: Path, name: str) -> None:
    trace = recording(specimens / name)
    found = operators(trace)
    total = gpu_ns(trace)
    assert found.total_ns == total
    assert found.owned_ns + found.unowned_ns == total
    assert sum(group.gpu_self_ns for group in found.categories) == found.owned_ns <= total
    for row in rows(found):
        assert row.gpu_self_ns <= row.gpu_total_ns
        assert row.gpu_total_ns <= total
        assert 0 <= row.host_self_ns <= row.host_total_ns
        assert sum(sequence.calls for sequence in row.sequences) <= row.calls
    assert all(place.gpu_ns <= total and (place.backward_gpu_ns or 0) <= total for place in found.modules)
    assert sum(site.gpu_ns for site in found.call_sites) <= found.owned_ns
    assert sum(work.gpu_ns for work in found.kernel_work) <= found.owned_ns
    for queue in queue_lengths(trace):
        assert 0 <= float(queue.starved.value or 0) <= float(queue.empty.value or 0) <= 1
        assert max(queue.series) == queue.longest <= queue.dispatches + queue.copies
    for span in ranges(trace).rows:
        assert 0 <= span.own_kernels <= span.kernels <= trace.rows("dispatches")
        assert span.gpu_ns <= total
        assert span.gap_ns >= 0


def gpu_ns(trace: Trace) -> int:
    spans = [
        span
        for table in ("dispatches", "copies")
        for span in trace.table(table).select("start_ns", "end_ns").iter_rows()
    ]
    return sum(end - start for start, end in spans if start is not None and end is not None and end >= start)


def rows(found: Operators) -> list[Operator]:
    return [row for group in found.categories for row in group.operators]


@pytest.mark.parametrize("name", TORCH[:8])
def test_the_launch_names_the_operator_that_the_recorder_noted(specimens: Path, name: str) -> None:
    """Two independent ways to the same answer; only old CUPTI traces note something else."""
    tree = operator_tree(recording(specimens / name))
    owned = tree.kernels.filter(pl.col("known") == BY_LAUNCH)
    ids = tree.spans["op_id"].gather(owned["owner"])
    noted = owned["op_id"]
    assert owned.height
    assert ((ids == noted) | noted.is_null()).all()


def test_rates_are_below_the_peaks_of_the_gpus(specimens: Path) -> None:
    """Dense bf16 and HBM peaks: H100 SXM 989 TFLOP/s, 3.35 TB/s; MI300X 1307 TFLOP/s, 5.3 TB/s (datasheets)."""
    for name, tflops, tbytes in ((TORCH[0], 989, 3.35), (TORCH[2], 1307, 5.3), (TORCH[7], 1307, 5.3)):
        found = operators(recording(specimens / name))
        shapes = [shape for row in rows(found) for shape in row.shapes if row.category == "GEMM"]
        rates = [float(shape.tflops.value) for shape in shapes if shape.tflops.value is not None]
        assert rates
        assert max(rates) < tflops
        assert all(float(shape.tbytes.value or 0) < tbytes for shape in shapes)


def test_the_same_model_has_the_same_work_on_both_gpus(specimens: Path) -> None:
    def flops(name: str) -> float:
        found = operators(recording(specimens / name))
        return sum(
            float(shape.flops.value or 0)
            for row in rows(found)
            for shape in row.shapes
            if row.name in ("aten::mm", "aten::addmm", "aten::_flash_attention_forward")
        )

    assert flops(TORCH[0]) == flops(TORCH[2]) > 1e12


def test_backward_operators_belong_to_their_forward(specimens: Path) -> None:
    found = operators(recording(specimens / f"{HTA}ns_resolution_rank-0.json.gz"))
    assert found.backward_by == "recorded links"
    norm = next(row for row in rows(found) if row.name == "aten::cudnn_batch_norm")
    assert norm.backward == ("CudnnBatchNormBackward0",)
    backward = next(row for row in rows(found) if row.name == "aten::cudnn_batch_norm_backward")
    assert norm.backward_gpu_ns == backward.gpu_total_ns


@pytest.mark.parametrize("name", TORCH[:4])
def test_the_timeline_of_allocations_moves_as_torch_itself_counts(specimens: Path, name: str) -> None:
    by_level = {row.level: row for row in memory(recording(specimens / name)).rows}
    ours, torch = by_level["CACHED"], by_level["torch_allocated_bytes"]
    before = torch.first_bytes - ours.first_bytes
    assert ours.peak_bytes + before == torch.peak_bytes
    assert ours.last_bytes + before == torch.last_bytes
    assert ours.peak_ns == torch.peak_ns


def test_energy_of_a_real_h200() -> None:
    found = energy(recording(Path(__file__).parents[1] / "data" / "h200" / "nvidia_smi.csv"))
    (gpu,) = found.gpus
    assert gpu.readings == 148
    assert 78 <= float(gpu.mean_power.value or 0) <= 127
    assert gpu.energy.value == pytest.approx(float(gpu.mean_power.value or 0) * gpu.window_ns / 1e9)
    assert "no kernel" in str(found.kernels_unavailable)


@pytest.mark.parametrize("name", [name for name in OTHERS if name.startswith("att/")])
def test_thread_traces_add_up(specimens: Path, name: str) -> None:
    trace = recording(specimens / name)
    recorded = (
        trace.table("instructions")
        .select(pl.col("latency_cycles", "idle_cycles", "stall_cycles").sum())
        .row(0)
    )
    (found,) = thread_trace(trace).kernels
    assert (found.latency_cycles, found.idle_cycles, found.stall_cycles) == recorded
    assert found.total_cycles == recorded[0] + recorded[1]
    assert sum(row.latency_cycles + row.idle_cycles for row in found.classes) == found.total_cycles
    assert sum(row.share for row in found.causes) == pytest.approx(1)
    assert 0 < float(found.issue_efficiency.value or 0) < 1
    assert float(found.vector_memory_wait.value or 0) > 0


@pytest.mark.parametrize("name", [name for name in OTHERS if "pc_sampl" in name])
def test_pc_samples_add_up(specimens: Path, name: str) -> None:
    for kernel in pc_samples(recording(specimens / name)).kernels:
        assert sum(row.samples for row in kernel.classes) == kernel.samples
        assert sum(row.samples for row in kernel.instructions) <= kernel.samples
        for share in (kernel.issued, kernel.lanes_active, kernel.partial_waves):
            assert share.value is None or 0 <= share.value <= 1
