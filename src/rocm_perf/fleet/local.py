"""Launchers of one machine: a command whose processes are the ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rocm_perf import user_program
from rocm_perf.collect.request.application import find_application
from rocm_perf.collect.request.launching import Distributed, start_of
from rocm_perf.collect.run.inputs import Input
from rocm_perf.collect.run.launch import Ended, exit_code, launch
from rocm_perf.errors import UsageError
from rocm_perf.fleet.job import Job, files_of, launches_of, of_pass, wants_another
from rocm_perf.fleet.launcher import Launched, LaunchPlan, Say, nothing_left

_VISIBLE = {"NVIDIA": "CUDA_VISIBLE_DEVICES"}  # by vendor; HIP's own otherwise


def local_plan(
    name: str, job: Job, argv: tuple[str, ...], environment: Mapping[str, str] | None = None
) -> LaunchPlan:
    """The plan of a launcher that starts all ranks with one command on this machine."""
    if job.nodes > 1:
        raise UsageError(
            f"launch {name} starts ranks on this machine alone",
            f"{job.nodes} nodes are asked for",
            "Use launch slurm, or --nodes 1.",
        )
    return LaunchPlan(
        files=files_of(job),
        argv=argv,
        environment={**(environment or {}), **_visible_gpus(job), **job.environment},
        notices=distributed_notices(job),
    )


def _visible_gpus(job: Job) -> dict[str, str]:
    """The variable that gives the ranks the GPUs of the configuration; none where it is all of them."""
    gpus = job.configuration.docker_gpus.strip()
    if gpus in ("", "all"):
        return {}
    return {_VISIBLE.get(job.configuration.gpu_vendor.upper(), "HIP_VISIBLE_DEVICES"): gpus}


def distributed_notices(job: Job) -> tuple[str, ...]:
    """What is done otherwise than `distributed` says: the backend is the program's own choice, a launcher another."""
    distributed = job.configuration.distributed or Distributed()
    backend = distributed.backend
    chosen = f"distributed.backend {backend} is not used: the program chooses its backend" if backend else ""
    return tuple(filter(None, (chosen, start_of(distributed).notice)))


def run_here(plan: LaunchPlan, job: Job, say: Say) -> Launched:
    """Start a launcher and wait for it, with its own input, output and signals; again for each further run of the
    program, because ranks that run together cannot be run again one by one."""
    environment = {**user_program.environment(), **plan.environment}
    source = Input(several=False)
    try:
        with nothing_left(job):
            find_application(job.app, environment)
            ended = _run(plan, job, environment, source, 1)
        number = 1
        while not ended.status and not ended.interrupted and wants_another(job, number):
            if not source.can_repeat:
                say(
                    "not launched again: the input came through a pipe and is used up. Give it as a file (< FILE)."
                )
                break
            number += 1
            say(f"launch {number} of {launches_of(job)}: {plan.argv[0]} starts the ranks again")
            ended = _run(plan, job, environment, source, number)
    finally:
        source.close()
    return _launched(plan.argv[0], ended)


def _run(plan: LaunchPlan, job: Job, environment: Mapping[str, str], source: Input, number: int) -> Ended:
    """Start all ranks once, and wait for them."""
    return launch(
        of_pass(plan.argv, number),
        environment,
        stdin=source.next_run(),
        cwd=Path(job.working_folder),
        watch_stderr=False,
    )


def ended_before(job: Job) -> Launched:
    """The state of an earlier launch on this machine. It ends together with its launcher, so it is over."""
    return Launched(state="done", message=f"the ranks of {job.run_id} have ended", exit_code=0)


def _launched(name: str, ended: Ended) -> Launched:
    code = exit_code(ended.status)
    if ended.interrupted:
        return Launched(state="cancelled", message="the ranks were interrupted", exit_code=code)
    if code:
        return Launched(state="failed", message=f"{name} ended with exit code {code}", exit_code=code)
    return Launched(state="done", message="all ranks have ended", exit_code=0)
