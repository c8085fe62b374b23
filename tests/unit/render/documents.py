"""Documents of simulated runs and of recordings in the repository, analysed once for all tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rocm_perf import api
from rocm_perf.analysis.overview import overview
from rocm_perf.model.document import Document
from tests.recordings import answer

ROOT = Path(__file__).parents[3]
WORKLOADS = sorted(path.stem for path in (ROOT / "examples" / "workloads").glob("*.toml"))
_FOLDER = ROOT / "tests" / "data" / "h200"
H200 = sorted(str(path.relative_to(_FOLDER)) for path in _FOLDER.rglob("*") if path.suffix in (".gz", ".csv"))
SPECIMENS = (
    "torch_trace/AMD-AGI_TraceLens__mi300_gaunernst_bert-small-uncased__1016001.json.gz",
    "torch_trace/AMD-AGI_TraceLens__mi300_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "torch_trace/AMD-AGI_TraceLens__mi300_resnet_act_checkpoint.json.gz",
    "torch_trace/AMD-AGI_TraceLens__vllm_decode_hipgraph.json.gz",
    "rocpd/JoursBleu_llama.cpp__32432_results.db.gz",
    "rpd/ROCm_rocmProfileData__matmul_result.rpd",
    "rocprofv3_csv/jimw567_rocprof-unified-viewer__decode_kernel_trace.csv",
    "rocprofv3_csv/jimw567_rocprof-unified-viewer__decode_stall_counter_collection.csv",
    "rocprofv3_csv/ROCm_rocm-systems__docs_pc_sampling_stochastic_debug.csv",
    "rocprofv3_csv/AMDResearch_intellikit__rocprofv3_kernel_stats.csv",
    "att/iree-org_wave__wave__stats_ui_output_agent_32617_dispatch_3.csv",
    "rocprof_compute/ROCm_rocm-systems__vcopy_MI350_pmc_perf.csv",
    "pftrace/csc-training_hip-programming__results.pftrace",
)


@cache
def simulated(name: str) -> Document:
    return overview(api.simulate(ROOT / "examples" / "workloads" / f"{name}.toml"), f"runs/{name}")


def recorded(name: str) -> Document:
    """Of a file in tests/data/h200."""
    return answer(_FOLDER / name)
