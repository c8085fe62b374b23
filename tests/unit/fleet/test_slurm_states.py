"""What SLURM prints about a job, and what is said of it."""

from __future__ import annotations

import pytest

from rocm_perf.fleet.slurm.states import FORGOTTEN, JobStatus, outcome, progress, read_sacct, read_scontrol

RUNNING = (
    "JobId=12 JobName=app UserId=root(0) Priority=1 JobState=RUNNING Reason=None Dependency=(null) ExitCode=0:0 "
    "RunTime=00:00:23 TimeLimit=02:00:00 Partition=gpu NodeList=n[1-2] Command=/a JobState=PENDING/x StdOut=/o\n"
)


def test_scontrol() -> None:
    status = read_scontrol(RUNNING)
    assert status == JobStatus(
        state="RUNNING", reason="None", nodes="n[1-2]", elapsed="00:00:23", limit="02:00:00"
    )
    assert not status.ended
    assert progress("12", status) == "job 12 runs on n[1-2], for 02:00:00 at most"
    assert read_scontrol("slurm_load_jobs error: Invalid job id specified") is None


def test_sacct() -> None:
    status = read_sacct("CANCELLED by 1000|0:15|n[1-2]|00:01:00|01:00:00\n")
    assert status is not None
    assert (status.state, status.exit_code, status.ended) == ("CANCELLED", 143, True)
    assert read_sacct("Slurm accounting storage is disabled\n") is None


def test_why_a_job_waits() -> None:
    def waits(reason: str) -> str:
        return progress("5", JobStatus(state="PENDING", reason=reason))

    assert waits("Resources") == "job 5 waits: no nodes are free"
    assert waits("PartitionNodeLimit").endswith("it will not start. Ask for fewer")
    assert waits("SomethingNew") == "job 5 waits: SomethingNew"


@pytest.mark.parametrize(
    ("status", "flags", "state", "code", "words"),
    [
        (JobStatus(state="COMPLETED", elapsed="00:00:05"), (False, False), "done", 0, "is done after 00:00:05"),
        (JobStatus(state="FAILED", exit_code=3), (False, False), "failed", 3, "failed with exit code 3"),
        (JobStatus(state="FAILED", exit_code=130), (True, False), "timed out", 130, "ran out of time"),
        (JobStatus(state="TIMEOUT"), (True, False), "timed out", 137, "--time"),
        (JobStatus(state="CANCELLED", exit_code=143), (False, False), "cancelled", 143, "was cancelled."),
        (JobStatus(state="CANCELLED"), (False, True), "cancelled", 130, "was interrupted"),
        (JobStatus(state="OUT_OF_MEMORY"), (False, False), "failed", 137, "ran out of memory"),
        (JobStatus(state=FORGOTTEN), (False, False), "done", 0, "forgotten"),
    ],
)  # fmt: skip
def test_how_a_job_ended(
    status: JobStatus, flags: tuple[bool, bool], state: str, code: int, words: str
) -> None:
    out_of_time, interrupted = flags
    launched = outcome("7", status, out_of_time=out_of_time, interrupted=interrupted)
    assert (launched.state, launched.exit_code) == (state, code)
    assert words in launched.message
