"""`launch slurm`: its options, and what they become."""

from __future__ import annotations

import argparse
from typing import get_args

from msgspec.structs import replace

from rocm_perf.collect.request.launching import Runtime, Slurm
from rocm_perf.fleet.job import Job
from rocm_perf.fleet.launcher import Launched, LaunchPlan, Say, add_workload
from rocm_perf.fleet.slurm import commands
from rocm_perf.fleet.slurm.job import plan_of, resume_job, run_job

_OPTIONS = {  # by their names in the `slurm` of a configuration
    "partition": ("NAME", "where the job runs"),
    "time": ("LIMIT", "how long it may run: 90 (minutes), 02:00:00"),
    "gpus_per_node": ("N", "GPUs of each node"),
    "account": ("NAME", "whom it is charged to"),
    "qos": ("NAME", "quality of service"),
}

_OTHERWISE = "--dry-run prints the script, and launch mpi or torchrun start the ranks here."


class SlurmLauncher:
    """As a job of SLURM: submitted, followed, collected.

    Ctrl-C ends the job and collects what it has recorded; when the terminal goes away, the job goes on. The output
    folder has to be one that all nodes see.
    """

    name = "slurm"
    obeys: tuple[str, ...] = ("distributed", "slurm", "gpu_vendor")

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        for name, (metavar, meaning) in _OPTIONS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=meaning)
        add_workload(parser)
        parser.add_argument(
            "--container-runtime", choices=get_args(Runtime), help="what starts ranks in an image (docker)"
        )
        parser.add_argument("--exclusive", action="store_true", help="share the nodes with no other job")
        parser.add_argument(
            "--sbatch-arg", metavar="ARG", action="append", default=[], help="hand to sbatch as it is"
        )

    def plan(self, job: Job, args: argparse.Namespace) -> LaunchPlan:
        if not args.dry_run:
            commands.check_here("launch slurm", _OTHERWISE)
        return plan_of(job, _settings(job, args), tuple(args.sbatch_arg))

    def run(self, plan: LaunchPlan, job: Job, say: Say) -> Launched:
        return run_job(plan, job, say)

    def resume(self, job: Job, say: Say) -> Launched:
        commands.check_here("launch slurm", _OTHERWISE)
        return resume_job(job, say)


def _settings(job: Job, args: argparse.Namespace) -> Slurm:
    """What is asked of SLURM: the options, and else the configuration."""
    given = {name: getattr(args, name) for name in _OPTIONS if getattr(args, name) is not None}
    slurm = replace(job.configuration.slurm or Slurm(), **given)
    if job.gpus and not slurm.gpus_per_node and not slurm.gres:
        slurm = replace(slurm, gpus_per_node=job.gpus)
    return replace(
        slurm,
        exclusive=args.exclusive or slurm.exclusive,
        container_runtime=args.container_runtime or slurm.container_runtime,
    )
