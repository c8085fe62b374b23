"""The job of SLURM that brings workers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.errors import NotSupportedError, ToolAbsentError
from rocm_perf.fleet.cluster.request import ClusterRequest
from rocm_perf.fleet.cluster.slurm_workers import (
    WorkerJob,
    slurm_workers,
    worker_job,
    worker_script,
)
from rocm_perf.fleet.cluster.workers import Ended


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
    pytest.importorskip("distributed")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(ToolAbsentError, match="--cluster slurm needs SLURM's commands"),
        slurm_workers(ClusterRequest("slurm"), tmp_path, lambda _: None),
    ):
        pass


class _Scheduler:
    """A scheduler to which a worker comes after so long, on a clock that only waiting and the test move."""

    def __init__(self, worker_after_s: float) -> None:
        self.now_s = 0.0
        self._worker_after_s = worker_after_s

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {"tcp://n1:1": {}} if self.now_s >= self._worker_after_s else {}}

    def wait_for_workers(self, count: int, timeout: float) -> None:
        self.now_s += timeout
        if self.now_s < self._worker_after_s:
            raise TimeoutError


Waited = Callable[..., tuple[list[str], _Scheduler]]


@pytest.fixture
def waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Waited:
    """Waiting for the worker of a job of which `scontrol` says what is given: what was said, and the scheduler."""

    def wait(
        shown: str, worker_after_s: float = float("inf"), wait_s: float | None = None, log: str = ""
    ) -> tuple[list[str], _Scheduler]:
        _fake(tmp_path, "sbatch", "echo 41")
        _fake(tmp_path, "scancel", "")
        _fake(tmp_path, "scontrol", f"echo '{shown}'")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.chdir(tmp_path)
        scheduler = _Scheduler(worker_after_s)
        monkeypatch.setattr("rocm_perf.fleet.cluster.slurm_workers.time.monotonic", lambda: scheduler.now_s)
        said: list[str] = []
        with worker_job(ClusterRequest("slurm", wait_s=wait_s), "tcp://h:1") as job:
            if log:
                (next(tmp_path.glob("rocm-perf-workers-*")) / "workers.log").write_text(log)
            job.wait_for_worker(scheduler, said.append)
        return said, scheduler

    return wait


def test_a_job_that_waits_in_the_queue_is_talked_about_now_and_then(waited: Waited) -> None:
    said, _ = waited("JobState=PENDING Reason=Resources", worker_after_s=200)
    assert said[0].startswith("job 41 waits: no nodes are free (")
    assert "given up after 3,600 s, see --wait" in said[0]
    assert len(said) == 4  # the first after some seconds, then one a minute


def test_a_worker_that_comes_at_once_is_not_talked_about(waited: Waited) -> None:
    assert waited("JobState=RUNNING Reason=None NodeList=n1", worker_after_s=3)[0] == []


def test_a_job_that_runs_without_bringing_a_worker_is_said_to(waited: Waited) -> None:
    said, _ = waited("JobState=RUNNING Reason=None NodeList=n1", worker_after_s=20)
    assert said[0].startswith("job 41 runs on n1, but no worker has come yet")


def test_a_job_that_fails_ends_the_wait_at_once_with_its_log(waited: Waited) -> None:
    log = "start\n\nTraceback\nModuleNotFoundError: No module named 'distributed'\nsrun: error: n1: task 0: Exited"
    with pytest.raises(NotSupportedError) as refused:
        waited("JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0", log=log)
    assert refused.value.what == "no worker came from SLURM job 41"
    assert "it has ended as failed, with exit code 1" in refused.value.why
    assert "ModuleNotFoundError: No module named 'distributed' / srun: error" in refused.value.why


def test_after_the_time_that_was_allowed_the_job_is_given_up_and_cancelled(
    waited: Waited, tmp_path: Path
) -> None:
    with pytest.raises(
        NotSupportedError, match=r"within 90 s .* job 41 waits: other jobs come first"
    ) as gone:
        waited("JobState=PENDING Reason=Priority", wait_s=90)
    assert "SBATCH_PARTITION" in gone.value.next_step
    assert (tmp_path / "calls").read_text().splitlines()[-1] == "scancel 41"


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended | None]:
    """What is said of a job without workers, of which `scontrol` says what is given, when it is asked again after so
    long."""

    def ask(shown: str, after_s: float = 0.0) -> Ended | None:
        _fake(tmp_path, "scontrol", f"echo '{shown}'")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        scheduler = _Scheduler(worker_after_s=float("inf"))
        monkeypatch.setattr("rocm_perf.fleet.cluster.slurm_workers.time.monotonic", lambda: scheduler.now_s)
        job = WorkerJob("41", tmp_path / "log", wait_s=90)
        first = job.ended(has_worker=False)
        scheduler.now_s += after_s
        return job.ended(has_worker=False) if after_s else first

    return ask


def test_workers_whose_time_has_run_out_are_gone_for_good(ended: Callable[..., Ended | None]) -> None:
    gone = ended("JobState=TIMEOUT Reason=TimeLimit RunTime=00:01:12 TimeLimit=00:01:00")
    assert gone is not None
    assert gone.what == "job 41 ran out of time after 00:01:12, and its workers are gone"
    assert "SBATCH_TIMELIMIT" in gone.next_step


def test_workers_that_were_cancelled_are_gone_for_good(ended: Callable[..., Ended | None]) -> None:
    gone = ended("JobState=CANCELLED Reason=None RunTime=00:00:05")
    assert gone == Ended("job 41 was cancelled after 00:00:05, and its workers are gone", "Run it again.")


def test_a_job_that_is_ending_may_still_say_how(ended: Callable[..., Ended | None]) -> None:
    assert ended("JobState=COMPLETING Reason=TimeLimit") is None


def test_a_job_that_went_back_into_the_queue_is_waited_for_as_long_as_at_first(
    ended: Callable[..., Ended | None],
) -> None:
    assert ended("JobState=PENDING Reason=BeginTime", after_s=80) is None
    gone = ended("JobState=PENDING Reason=BeginTime", after_s=100)
    assert gone is not None
    assert "none came back within 90 s; job 41 waits: its time to begin has not come" in gone.what
    assert "--wait" in gone.next_step


def test_nothing_is_asked_of_slurm_while_there_are_workers(tmp_path: Path) -> None:
    job = WorkerJob("41", tmp_path / "log", wait_s=90)
    assert job.ended(has_worker=True) is None
    assert not (tmp_path / "calls").exists()
