"""`launch torchrun`: torchrun on this machine, which other launchers use for their nodes."""

from __future__ import annotations

import argparse
import re
from pathlib import PurePath

from rocm_perf.errors import UsageError
from rocm_perf.fleet.job import Job, profile_command
from rocm_perf.fleet.launcher import Launched, LaunchPlan, Say
from rocm_perf.fleet.local import ended_before, local_plan, run_here

_PYTHON = re.compile(r"python\d*(\.\d+)*")


class TorchrunLauncher:
    """With torchrun, on this machine."""

    name = "torchrun"
    obeys: tuple[str, ...] = ("distributed", "docker_gpus", "gpu_vendor")

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--torchrun-arg", metavar="ARG", action="append", default=[], help="hand to torchrun as it is"
        )

    def plan(self, job: Job, args: argparse.Namespace) -> LaunchPlan:
        return local_plan(self.name, job, torchrun_command(job, ("--standalone", *args.torchrun_arg)))

    def run(self, plan: LaunchPlan, job: Job, say: Say) -> Launched:
        return run_here(plan, job, say)

    def resume(self, job: Job, say: Say) -> Launched:  # noqa: ARG002
        return ended_before(job)


def torchrun_command(
    job: Job, meeting: tuple[str, ...], rank_command: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """torchrun on one node, which starts rocm-perf for each rank; `meeting` is where and how the ranks meet, and
    `rank_command` what each runs, if that is not the command of this machine."""
    each = ("--nproc-per-node", str(job.ranks_per_node), "--no-python")
    return (*_torchrun(job.app), *meeting, *each, *(rank_command or profile_command(job)))


def _torchrun(app: tuple[str, ...]) -> tuple[str, ...]:
    """How torchrun is started: by the program's own Python, which has the program's torch, where it names one."""
    name = PurePath(app[0]).name
    if name == "torchrun":
        raise UsageError(
            "torchrun would be started twice",
            "it is the application too",
            "Write the program itself behind --.",
        )
    return (app[0], "-m", "torch.distributed.run") if _PYTHON.fullmatch(name) else ("torchrun",)
