"""Jobs of two nodes and four ranks on a real SLURM: whatever happens to them, what was recorded is delivered."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rocm_perf.ingest.load import load
from tests.fake_tools import fake_path
from tests.slurm.cluster import Cluster, cluster, missing
from tests.slurm.launches import TIME_TO_WRITE, Finished, Launch, launch

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

EXAMPLE = Path(__file__).parents[2] / "examples" / "profiling-configs" / "rocprofv3_multi_node.json"
TWO_BY_TWO = ("--nodes", "2", "--ranks-per-node", "2", "--partition", "gpu", "--no-analyze")
COUNTED = ("--profiler", "rocprofv3", "--counters", "SQ_WAVES")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made


@pytest.fixture(scope="module")
def launches(slurm: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Launch]]:
    """All jobs of this file, at the same time."""
    folder = tmp_path_factory.mktemp("runs")
    configuration = json.loads(EXAMPLE.read_text())
    configuration["distributed"] = {"launcher": "srun", "nnodes": 2, "nproc_per_node": 2}
    configuration["slurm"]["exclusive"] = False  # or the other jobs would have to wait
    configuration["tools"] = [{"name": "rocprofv3_lightweight"}]
    (folder / "rocprofv3_multinode.json").write_text(json.dumps(configuration))
    config = ("--config", str(folder / "rocprofv3_multi_node.json"), "--scratch", str(folder / "scratch"))
    (folder / "mpirun.json").write_text('{"distributed": {"launcher": "mpirun"}}')
    two_ranks = (*TWO_BY_TWO, "--ranks", "0,3")
    asked = {
        "timed-out": ((*two_ranks, "--time", "10"), "stays"),
        "cancelled": ((*two_ranks, "--time", "5"), "stays"),
        "interrupted": ((*two_ranks, "--time", "5", "--config", str(folder / "mpirun.json")), "stays"),
        "failing": ((*TWO_BY_TWO, "--time", "5"), "fails"),
        "whole": (config, "ends"),
        "counted": ((*TWO_BY_TWO, "--time", "5", *COUNTED), "ends"),
    }
    with ExitStack() as stack:
        started = {}
        for name, (options, behaviour) in asked.items():
            variables = {**slurm.environment, **TIME_TO_WRITE}
            started[name] = launch("slurm", folder / name, *options, behaviour=behaviour, **variables)
            stack.callback(started[name].process.kill)
        started["timed-out"].started(4)
        slurm.shorten(started["timed-out"].number())
        yield started


@pytest.fixture(scope="module")
def whole(launches: dict[str, Launch]) -> Finished:
    return launches["whole"].finish()


def test_every_ranks_files_are_collected(whole: Finished) -> None:
    assert whole.code == 0, whole.errors
    assert [row["rank"] for row in whole.ranks] == [0, 1, 2, 3]
    assert whole.databases == {0: 1, 1: 1, 2: 1, 3: 1}
    assert whole.record["missing"] == []
    assert "4 ranks recorded" in whole.errors
    assert not any((whole.folder.parent / "scratch").iterdir())


def test_names_never_collide(whole: Finished) -> None:
    folders = {row["folder"] for row in whole.ranks}
    assert len(folders) == 4
    assert all(re.fullmatch(rf"[^/]+/rank{row['rank']}-{row['pid']}", row["folder"]) for row in whole.ranks)


def test_the_configuration_is_obeyed(whole: Finished) -> None:
    script = (whole.folder / "launch" / "launch.sbatch").read_text()
    assert "#SBATCH --gpus-per-node=4" in script
    assert "#SBATCH --time=02:00:00" in script
    assert "guest_os" in whole.errors
    run = json.loads((whole.folder / whole.ranks[0]["folder"] / "rocm-perf-run.json").read_text())
    assert run["preset"] == "lightweight"
    assert run["passes"][0]["environment"]["OMP_NUM_THREADS"] == "8"


def test_a_failing_rank_loses_nothing(launches: dict[str, Launch]) -> None:
    done = launches["failing"].finish()
    assert done.code == 3, done.errors
    assert done.databases == {0: 1, 1: 1, 2: 1, 3: 1}
    assert {row["rank"]: row["exit_code"] for row in done.ranks} == {0: 0, 1: 0, 2: 3, 3: 0}
    assert re.search(r"rank 2 on \S+: failed with exit code 3; what it had recorded is kept", done.errors)


def test_a_cancelled_job_delivers(slurm: Cluster, launches: dict[str, Launch]) -> None:
    job = launches["cancelled"]
    job.started(4)
    slurm.run("scancel", job.number())
    done = job.finish()
    assert done.record["launched"]["state"] == "cancelled"
    assert done.code != 0
    _delivered(done)


def test_ctrl_c_ends_a_job_of_mpirun_and_delivers(slurm: Cluster, launches: dict[str, Launch]) -> None:
    job = launches["interrupted"]
    job.started(4)
    job.interrupt()
    done = job.finish()
    assert done.code == 130, done.errors
    assert "interrupting job" in done.errors
    assert done.record["launched"]["state"] == "cancelled"
    assert job.number() not in slurm.jobs()
    _delivered(done)


def test_a_job_that_runs_out_of_time_delivers(launches: dict[str, Launch]) -> None:
    done = launches["timed-out"].finish()
    assert done.record["launched"]["state"] == "timed out"
    assert "ran out of time" in done.errors
    _delivered(done)


def test_counters_are_a_launch_of_all_ranks_each(launches: dict[str, Launch]) -> None:
    done = launches["counted"].finish()
    assert done.code == 0, done.errors
    assert [(row["rank"], len(row["later_folders"])) for row in done.ranks] == [(n, 1) for n in range(4)]
    (printed,) = done.folder.glob("launch/job-*.out")
    assert [printed.read_text().count(f"rank {rank} is here") for rank in range(4)] == [2] * 4
    run = load(done.folder, as_one=True)
    assert sorted(run.table("counters").select("rank", "pass_id").unique().rows()) == [
        (n, 2) for n in range(4)
    ]


def test_run_submits_what_a_configuration_asks_of_slurm(slurm: Cluster, tmp_path: Path) -> None:
    (tmp_path / "workloads.toml").write_text('[[workload]]\nname = "here"\ncommand = ["hostname"]\n')
    context = {
        "slurm": {"partition": "gpu", "nodes": 2, "time": "5"},
        "distributed": {"nproc_per_node": 2},
        "tools": [{"name": "rocprofv3_lightweight"}],
    }
    done = subprocess.run(
        [sys.executable, "-m", "rocm_perf", "run", "--tags", "here", "-c", json.dumps(context), "--json"],
        cwd=tmp_path,
        env={**fake_path(tmp_path / "tools"), **slurm.environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (outcome,) = json.loads(done.stdout)["workloads"]
    assert outcome["status"] == "recorded"
    folder = tmp_path / outcome["folder"]
    assert sorted(each.name.split("-")[0] for each in folder.glob("raw/*/rank*")) == [
        f"rank{n}" for n in range(4)
    ]
    assert "hip_api_trace" in " ".join(outcome["files"])


def test_what_sbatch_refuses_is_said(slurm: Cluster, tmp_path: Path) -> None:
    options = ("--nodes", "2", "--partition", "nowhere")
    done = launch("slurm", tmp_path / "none", *options, behaviour="ends", **slurm.environment).finish()
    assert done.code == 4
    assert "invalid partition" in done.errors
    assert "sinfo lists the partitions" in done.errors


def _delivered(done: Finished) -> None:
    """The ranks that were chosen have their files, the others their times."""
    assert done.databases == {0: 1, 1: 0, 2: 0, 3: 1}, done.errors
    assert [row["state"] for row in done.ranks] == ["interrupted"] * 4
    assert [row["profiled"] for row in done.ranks] == [True, False, False, True]
    assert all(row["wall_s"] > 0 for row in done.ranks)
