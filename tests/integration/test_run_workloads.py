"""`rocm-perf run` with fake tools of an MI300X: configurations of guides, several processes' worth of files, passes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.ingest.load import load
from tests.fake_tools import fake_path

pytestmark = pytest.mark.launches

CONFIGS = Path(__file__).parents[2] / "examples" / "profiling-configs"
TRACES = {"kernel_trace.csv", "hip_api_trace.csv", "app_results.db", "model_trace.pftrace", "trace.json"}


def run(tmp_path: Path, *options: str) -> dict[str, Any]:
    environment = fake_path(tmp_path, ("rocprofv3", "rocminfo", "amd-smi"))
    (tmp_path / "workloads.toml").write_text('[[workload]]\nname = "app"\ncommand = ["true"]\n')
    argv = [sys.executable, "-m", "rocm_perf", "run", "--tags", "app", "--json", *options]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)["workloads"][0]
    return answer


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("rocprofv3_lightweight.json", set()),
        ("rocprofv3_compute_bound.json", {"gpu_info_power_profiler_output.csv"}),
        ("rocprofv3_memory_bound.json", {"memory_copy_trace.csv", "gpu_info_vram_profiler_output.csv"}),
    ],
)
def test_configurations_of_guides_leave_the_files_that_guides_read(
    tmp_path: Path, name: str, more: set[str]
) -> None:
    answer = run(tmp_path, "--additional-context-file", str(CONFIGS / name))
    folder = tmp_path / answer["folder"]
    assert TRACES | more <= {file.name for file in folder.iterdir()}, answer
    recorded, trace = load(folder / "raw", as_one=True), load(folder)
    assert {table: trace.rows(table) for table in trace} == {
        table: recorded.rows(table) for table in recorded
    }
    passes = trace.table("dispatches").group_by("pass_id").len().sort("pass_id")["len"].to_list()
    assert load(folder / "kernel_trace.csv").rows("dispatches") == passes[0] > 0
    counted = [load(file).rows("counters") for file in folder.glob("**/counter_collection.csv")]
    assert (sum(counted), len(counted)) == (trace.rows("counters"), len(passes) - 1)
