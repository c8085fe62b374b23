"""Roofline and bottlenecks of real recordings: every kernel has an answer or a reason, and nothing exceeds 100 percent
unseen. Some values are worked out again here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from rocm_perf.analysis.bottleneck import bottlenecks
from rocm_perf.analysis.roofline import roofline
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.arch.gpu import Gpu
from rocm_perf.ingest.load import load
from rocm_perf.model.results.roofline import KernelRoofline, Roofline
from rocm_perf.model.trace import Trace
from tests.recordings import recording

H200 = Path(__file__).parents[1] / "data" / "h200"
COMPUTE = "rocprof_compute/ROCm_rocm-systems__vcopy_"
CSV = "rocprofv3_csv/"
TRACELENS = "torch_trace/AMD-AGI_TraceLens__"
HTA = "torch_trace/facebookresearch_HolisticTraceAnalysis__"

# Folders as the tool lays them out: the prefix of the specimens that belong together.
FOLDERS = [f"{COMPUTE}{gpu}_" for gpu in ("MI300X_A1_rocpd", "MI350", "MI100", "MI200")]
FOLDERS += ["rocprof_compute/ROCm_roc-optiq__optiq_"]
# Counters whose file does not say which GPU they are of.
COUNTED = {
    "rocprof_compute/AMDResearch_intellikit__bank_conflict_pmc_perf.csv": "MI300X",
    f"{CSV}HazyResearch_HipKittens__attn_BHND_mi350x_lds_conflict_counter_collection.csv": "MI350X",
    f"{CSV}jimw567_rocprof-unified-viewer__decode_stall_counter_collection.csv": "Radeon 8060S",
    f"{CSV}jimw567_rocprof-unified-viewer__decode_fetch_counter_collection.csv": "Radeon 8060S",
    f"{CSV}doplxyz_rdna4-gfx1201-tooling-verification__gl2c_724_profstd_ea_rd_counter_collection.csv": "RX 9070 XT",
}
OTHERS = [
    f"{TRACELENS}h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    f"{TRACELENS}h100_gaunernst_bert-small-uncased__1016001.json.gz",
    f"{TRACELENS}mi300_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    f"{TRACELENS}mi300_gaunernst_bert-small-uncased__1016001.json.gz",
    f"{TRACELENS}mi300_resnet_act_checkpoint.json.gz",
    f"{TRACELENS}sglang_Qwen3-8B_decode.json.gz",
    f"{TRACELENS}torch_compile_triton.json.gz",
    f"{TRACELENS}vllm_decode_hipgraph.json.gz",
    "torch_trace/amd_HPCTrainingExamples__merged_nccl_only.json.gz",
    f"{HTA}cpu_only_rank-34.json.gz",
    f"{HTA}cupti_profiler.json.gz",
    f"{HTA}mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    f"{HTA}ns_resolution_rank-0.json.gz",
    f"{HTA}simple_add.json.gz",
    "rocprofv3_json/AMD-AGI_TraceLens__908_results.json.gz",
    "rocpd/JoursBleu_llama.cpp__32432_results.db.gz",
    "rocprof_compute_db/ROCm_roc-optiq__rocprof_compute_23ed6f36.db.gz",
    "rpd/ROCm_rocmProfileData__matmul_result.rpd",
    f"{CSV}jimw567_rocprof-unified-viewer__decode_kernel_trace.csv",
    f"{CSV}ROCm_rocm-systems__docs_pc_sampling_stochastic_debug.csv",
    "att/HazyResearch_HipKittens__mi325x__code.json",
    "pc_sampling/ROCm_rocprof-compute-viewer__code.json.gz",
]


def folder(specimens: Path, prefix: str, target: Path) -> Trace:
    for file in specimens.glob(f"{prefix}*"):
        shutil.copy(file, target / file.name.removeprefix(Path(prefix).name))
    return load(target)


def check(trace: Trace, gpu: Gpu | None = None) -> Roofline:
    found = roofline(trace, gpu=gpu)
    assert bool(found.kernels) != bool(found.unavailable)
    ran = trace.table("dispatches")["kernel"].unique()
    assert {row.kernel for row in found.kernels} == set(ran)
    for row in found.kernels:
        assert row.reason
        assert row.percent_of_roof.known == (row.position is not None)
        assert row.percent_of_roof.known or row.regime == "unknown"
        assert row.spread is None or row.spread.greatest <= 100 or row.spread.doubt
        assert row.dispatches <= row.calls
    judged = bottlenecks(trace, gpu=gpu)
    for kernel in judged.kernels:
        assert kernel.label or kernel.reason.startswith("unknown: ")
        assert all(0 <= float(score.score.value or 0) <= 1 for score in kernel.scores)
        assert all(0 <= evidence.value <= 1 for evidence in kernel.evidence if not evidence.unit)
    doubtful = [*percents(msgspec.to_builtins(found)), *percents(msgspec.to_builtins(judged))]
    assert all(one["doubt"] for one in doubtful if one["value"] > 100)
    return found


def percents(part: Any) -> Iterator[dict[str, Any]]:
    """Every percentage of a document."""
    if isinstance(part, dict):
        if part.get("unit") == "%" and part["value"] is not None:
            yield part
        for inner in part.values():
            yield from percents(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from percents(inner)


def named(found: Roofline, short: str) -> KernelRoofline:
    return next(row for row in found.kernels if row.short_name.startswith(short))


@pytest.mark.parametrize("prefix", FOLDERS, ids=lambda prefix: prefix.rsplit("__", 1)[-1])
@pytest.mark.whole
def test_folders_of_rocprof_compute(specimens: Path, tmp_path: Path, prefix: str) -> None:
    assert check(folder(specimens, prefix, tmp_path)).gpus[0].ceilings


@pytest.mark.parametrize(("name", "gpu"), COUNTED.items(), ids=[Path(name).name for name in COUNTED])
def test_counters_of_a_gpu_that_is_named(specimens: Path, name: str, gpu: str) -> None:
    check(recording(specimens / name), find_gpu(gpu))
    assert not any(row.percent_of_roof.known for row in check(recording(specimens / name)).kernels)


@pytest.mark.parametrize("name", OTHERS, ids=lambda name: Path(name).name)
def test_other_recordings(specimens: Path, name: str) -> None:
    check(recording(specimens / name))


@pytest.mark.parametrize(
    "name", ["ncu_basic.csv", "ncu_metrics.csv", "ncu_raw.csv", "eager_sync.json.gz", "graph.json.gz"]
)
def test_recordings_of_an_h200(name: str) -> None:
    check(recording(H200 / name))


def test_mi300x_copy_by_counters(specimens: Path, tmp_path: Path) -> None:
    trace = folder(specimens, FOLDERS[0], tmp_path)
    found = check(trace).kernels[0]
    counters = trace.table("counters")

    def total(name: str) -> float:
        return float(counters.filter(pl.col("counter") == name)["value"].sum())

    wide, narrow = total("TCC_BUBBLE_sum"), total("TCC_EA0_RDREQ_32B_sum")
    read = 128 * wide + 64 * (total("TCC_EA0_RDREQ_sum") - wide - narrow) + 32 * narrow
    written = 64 * total("TCC_EA0_WRREQ_64B_sum") + 32 * (
        total("TCC_EA0_WRREQ_sum") - total("TCC_EA0_WRREQ_64B_sum")
    )
    ran = trace.table("dispatches").filter(pl.col("pass_id") == trace.table("dispatches")["pass_id"].min())
    length = float((ran["end_ns"] - ran["start_ns"]).sum())
    assert found.percent_of_roof.value == pytest.approx(100 * (read + written) / length / 5300)
    assert 40 < float(found.percent_of_roof.value or 0) < 46
    assert (found.regime, found.position, found.flops.value) == ("memory", "memory (HBM)", 0)


def test_measured_ceilings_of_a_workload_stand_before_the_catalogue(specimens: Path, tmp_path: Path) -> None:
    (gpu,) = check(folder(specimens, FOLDERS[-1], tmp_path)).gpus
    hbm = next(row for row in gpu.ceilings if row.name == "HBM")
    assert hbm.measured
    assert 1.9 < float(hbm.rate.value or 0) < 2.1


def test_gfx1201_read_of_256_mib(specimens: Path) -> None:
    """(256 << 20) + 512 B in 608,127 ns, of 640 GB/s."""
    name = list(COUNTED)[-1]
    found = named(check(recording(specimens / name), find_gpu("RX 9070 XT")), "read_f4")
    assert found.percent_of_roof.value == pytest.approx(100 * ((256 << 20) + 512) / 608_127 / 640, rel=0.02)
    assert (found.position, found.regime) == ("memory (DRAM)", "memory")
    assert "writes were not counted" in str(found.percent_of_roof.doubt)


def test_the_same_kernels_by_bytes_and_by_ncus_own_percentages() -> None:
    """Two runs of the same program on an H200: dram__bytes over the data sheet, and DRAM Throughput."""
    computed = {row.kernel: row for row in check(recording(H200 / "ncu_raw.csv")).kernels}
    recorded = {row.kernel: row for row in check(recording(H200 / "ncu_basic.csv")).kernels}
    for kernel, row in computed.items():
        own = recorded[kernel].percent_of_roof.inputs["memory (HBM)"]
        assert row.percent_of_roof.value == pytest.approx(own, abs=2)


def test_products_of_a_language_model_by_their_shapes(specimens: Path) -> None:
    h100 = check(recording(specimens / OTHERS[0]))
    gemm = named(h100, "sm90_xmma_gemm_bf16bf16")
    assert (gemm.regime, gemm.position) == ("compute", "compute (bf16 matrix)")
    assert 55 < float(gemm.percent_of_roof.value or 0) < 70
    mi300 = check(recording(specimens / OTHERS[2]))
    gemm = named(mi300, "Cijk_Alik_Bljk_B_BS_BH MT256x128")
    assert gemm.position == "compute (bf16 matrix)"
    assert 400 < float(gemm.tflops.value or 0) < 550


def test_the_last_layer_of_a_decode_step_reads_its_weights_once(specimens: Path) -> None:
    found = named(
        check(recording(specimens / f"{TRACELENS}vllm_decode_hipgraph.json.gz")),
        "Cijk_Alik_Bljk_BBS_BH MT448x32",
    )
    assert (found.regime, found.position) == ("memory", "memory (HBM)")
    assert 75 < float(found.percent_of_roof.value or 0) < 85
