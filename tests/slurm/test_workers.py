"""`analyze --cluster slurm` on a real SLURM: its workers come, and are gone at the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from bench.make_ranks import simulated_rank, write_job, write_rank

from tests.slurm.cluster import Cluster, cluster, missing

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

SMALL = 8  # ranks


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("slurm")) as made:
        yield made


def _started(slurm: Cluster, folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rocm_perf", "analyze", str(folder), "--cluster", "slurm", "--json", *options],
        cwd=folder,
        env={**os.environ, **slurm.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    output, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def _analyze(slurm: Cluster, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return _ended(_started(slurm, folder, *options))


def test_ranks_are_analysed_by_workers_of_a_job_which_is_gone_at_the_end(
    slurm: Cluster, tmp_path: Path
) -> None:
    write_job(tmp_path, 3, steps=3, pairs=4)
    done = _analyze(slurm, tmp_path, "--workers", "2", "--worker-memory", "500M")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["runs"][0]["devices"]) == 3
    assert slurm.is_empty_within(60)
    assert not list(tmp_path.glob("rocm-perf-workers-*"))


def test_what_sbatch_refuses_is_said_in_one_line(
    slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rank(simulated_rank(steps=1, pairs=1), 0, tmp_path)
    monkeypatch.setenv("SBATCH_PARTITION", "absent")
    done = _analyze(slurm, tmp_path)
    assert done.returncode == 4
    assert done.stderr.startswith("rocm-perf: sbatch refused the job of workers: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def closed_partition(slurm: Cluster) -> Iterator[None]:
    """Jobs are accepted, and stay in the queue."""
    slurm.run("scontrol", "update", "PartitionName=gpu", "State=DOWN")
    yield
    slurm.run("scontrol", "update", "PartitionName=gpu", "State=UP")


@pytest.mark.usefixtures("closed_partition")
def test_a_job_that_stays_in_the_queue_is_talked_about_and_given_up(slurm: Cluster, tmp_path: Path) -> None:
    write_rank(simulated_rank(steps=1, pairs=1), 0, tmp_path)
    done = _analyze(slurm, tmp_path, "--wait", "12", "--worker-memory", "400M")
    assert done.returncode == 4
    waiting, refused = done.stderr.splitlines()
    assert "waits: the partition is down" in waiting
    assert refused.startswith("rocm-perf: no worker came from SLURM job ")
    assert slurm.is_empty_within(60)


def test_a_job_whose_workers_cannot_start_ends_the_wait_with_its_log(
    slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rank(simulated_rank(steps=1, pairs=1), 0, tmp_path)
    monkeypatch.setenv("SLURM_DISTRIBUTION", "nonsense")  # srun refuses it, sbatch does not look at it
    done = _analyze(slurm, tmp_path, "--worker-memory", "400M")
    assert done.returncode == 4
    assert "it has ended as failed" in done.stderr
    assert "Its log ends with: " in done.stderr


def _reads(file: Path) -> bool:
    """Whether some process has the file open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it has been closed meanwhile
            if link.readlink() == file:
                return True
    return False


def test_what_was_analysed_when_the_job_is_cancelled_is_kept(slurm: Cluster, tmp_path: Path) -> None:
    """The first ranks are small. The last takes long, and the one worker does not come to its end."""
    write_job(tmp_path, SMALL, steps=1, pairs=1)
    long = write_rank(simulated_rank(steps=400, pairs=200), 99, tmp_path)
    process = _started(slurm, tmp_path, "--workers", "1", "--worker-memory", "900M")
    deadline = time.monotonic() + 120
    while not _reads(long) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(1.0)  # for the last of the others to be brought here
    slurm.run("scancel", *slurm.jobs())
    done = _ended(process)
    assert done.returncode == 4, done.stderr
    (line,) = done.stderr.splitlines()
    assert "was cancelled" in line
    answer = json.loads(done.stdout)
    analysed = len(answer["runs"][0]["devices"])
    assert 0 < analysed <= SMALL
    assert f"{analysed} of {SMALL + 1} ranks were analysed" in line
    assert answer["errors"][0]["exit_code"] == 4
