"""The job of SLURM that brings workers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocm_perf.errors import NotSupportedError, ToolAbsentError
from rocm_perf.fleet.cluster import slurm_workers
from rocm_perf.fleet.cluster.request import ClusterRequest
from rocm_perf.fleet.cluster.slurm_workers import worker_job, worker_script


def test_the_script_is_bash_and_starts_as_many_workers(tmp_path: Path) -> None:
    text = worker_script("tcp://10.0.0.1:8786", tmp_path, workers=12, memory=3_000_000_000)
    assert "#SBATCH --ntasks=12" in text
    assert "#SBATCH --mem-per-cpu=3000M" in text
    assert "--memory-limit 3000000000" in text
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


def _fake(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho {name} $* >> {folder}/calls\n{body}\n")
    (folder / name).chmod(0o755)


def test_the_job_is_cancelled_also_where_the_work_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake(tmp_path, "sbatch", "echo '41;cluster'")
    _fake(tmp_path, "scancel", "")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZeroDivisionError), worker_job(ClusterRequest("slurm", 2), "tcp://h:1"):
        raise ZeroDivisionError
    assert (tmp_path / "calls").read_text().splitlines()[-1] == "scancel 41"
    assert not list(tmp_path.glob("rocm-perf-workers-*"))


def test_what_sbatch_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(tmp_path, "sbatch", "echo 'sbatch: error: invalid partition' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(NotSupportedError, match="invalid partition"),
        worker_job(ClusterRequest("slurm"), "tcp://h:1"),
    ):
        pass


def test_no_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ToolAbsentError, match="sbatch is not on the PATH"):
        slurm_workers.run_slurm("sbatch")
