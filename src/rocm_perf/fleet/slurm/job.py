"""A job of SLURM from its plan to its end: submitted, followed, ended when the user asks for that."""

from __future__ import annotations

import os
import shlex
import time

from rocm_perf.collect.request.application import find_application
from rocm_perf.collect.request.launching import Slurm
from rocm_perf.collect.run.layout import explained
from rocm_perf.errors import InputError, UsageError
from rocm_perf.fleet.job import Job, files_of
from rocm_perf.fleet.launcher import Launched, LaunchPlan, Say, nothing_left
from rocm_perf.fleet.local import distributed_notices
from rocm_perf.fleet.ranks import missing_ranks, rank_rows
from rocm_perf.fleet.slurm import commands
from rocm_perf.fleet.slurm.follow import end, follow
from rocm_perf.fleet.slurm.script import OUT_OF_TIME_FILE, script_of
from rocm_perf.fleet.slurm.states import JobStatus, outcome
from rocm_perf.fleet.slurm.time_limit import flush_s, limit_s

SCRIPT_FILE = "launch.sbatch"
NUMBER_FILE = "job-number"  # in the launch folder
_FILES_S, _PAUSE_S = 5.0, 0.5


def plan_of(job: Job, slurm: Slurm, extra: tuple[str, ...]) -> LaunchPlan:
    """The script of a job, and the command that submits it; `extra` are further options of sbatch."""
    script = script_of(job, slurm, flush_s(limit_s(str(slurm.time))), extra)
    return LaunchPlan(
        files={**files_of(job), SCRIPT_FILE: script},
        argv=("sbatch", "--parsable", str(job.launch_folder / SCRIPT_FILE)),
        notices=(*distributed_notices(job), *_only_there(job)),
    )


def run_job(plan: LaunchPlan, job: Job, say: Say) -> Launched:
    """Submit a job, and follow it to its end."""
    with nothing_left(job):
        number = commands.submit(plan.argv, job.working_folder)
    with explained(job.launch_folder):
        (job.launch_folder / NUMBER_FILE).write_text(f"{number}\n")
    say(f"submitted job {number}; what it prints goes to {job.launch_folder}/job-{number}.out")
    return _followed(number, job, say)


def resume_job(job: Job, say: Say) -> Launched:
    """Follow a job that was submitted before."""
    try:
        number = (job.launch_folder / NUMBER_FILE).read_text().strip()
    except OSError as error:
        raise InputError(f"{job.folder} holds no job of SLURM", error.strerror or str(error)) from error
    return _followed(number, job, say)


def _only_there(job: Job) -> tuple[str, ...]:
    """A notice on a program that this machine does not have: the nodes may."""
    if job.image:
        return ()
    try:
        find_application(job.app, os.environ)
    except UsageError as error:
        return (f"{error}; it has to be on the nodes",)
    return ()


def _followed(number: str, job: Job, say: Say) -> Launched:
    """Wait for a job. Ctrl-C ends it; another signal, as when the terminal goes away, ends only the waiting."""
    interrupted = False
    try:
        status = follow(number, say)
    except KeyboardInterrupt as stop:
        if type(stop) is not KeyboardInterrupt:
            say(f"job {number} goes on; {_how_to_collect(job)}")
            raise
        interrupted = True
        status = _ended(number, say)
    if status is None:
        message = f"job {number} has been asked to end; not waiting for it any longer; {_how_to_collect(job)}"
        return Launched(state="under way", message=message, exit_code=130)
    _wait_for_files(job)
    return outcome(
        number,
        status,
        out_of_time=(job.launch_folder / OUT_OF_TIME_FILE).exists(),
        interrupted=interrupted and status.state != "COMPLETED",
    )


def _ended(number: str, say: Say) -> JobStatus | None:
    """End a job; None if the user does not want to wait for that."""
    try:
        return end(number, say)
    except KeyboardInterrupt:
        return None


def _wait_for_files(job: Job) -> None:
    """Wait until every rank has left its end: a shared file system shows what other nodes wrote some time later."""
    deadline = time.monotonic() + _FILES_S
    while time.monotonic() < deadline:
        rows = rank_rows(job.folder)
        if not missing_ranks(rows, job.ranks) and all(row.state != "running" for row in rows):
            return
        time.sleep(_PAUSE_S)


def _how_to_collect(job: Job) -> str:
    return f"rocm-perf launch slurm --collect {shlex.quote(str(job.folder))} waits for it and collects"
