"""`launch mpi`: mpirun on this machine."""

from __future__ import annotations

import argparse
import os

from rocm_perf.fleet.job import Job, profile_command
from rocm_perf.fleet.launcher import Launched, LaunchPlan, Say
from rocm_perf.fleet.local import ended_before, local_plan, run_here

# Open MPI 4 and 5 read these, others ignore them: seconds from the end of a rank that fails to SIGKILL for the others,
# by default one. It always waits that long.
_TIME_TO_FLUSH = {"OMPI_MCA_odls_base_sigkill_timeout": "30", "PRTE_MCA_odls_base_sigkill_timeout": "30"}
_AS_ROOT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{end}": "1" for prefix in ("OMPI", "PRTE") for end in ("", "_CONFIRM")
}
_OVERSUBSCRIBE = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


class MpiLauncher:
    """With mpirun, on this machine."""

    name = "mpi"
    obeys: tuple[str, ...] = ("distributed", "docker_gpus", "gpu_vendor")

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--mpi-arg", metavar="ARG", action="append", default=[], help="hand to mpirun as it is"
        )

    def plan(self, job: Job, args: argparse.Namespace) -> LaunchPlan:
        argv = ("mpirun", "-n", str(job.ranks), *args.mpi_arg, *profile_command(job))
        crowded = _OVERSUBSCRIBE if job.ranks > (os.cpu_count() or 1) else {}
        return local_plan(self.name, job, argv, {**mpi_settings(), **crowded})

    def run(self, plan: LaunchPlan, job: Job, say: Say) -> Launched:
        return run_here(plan, job, say)

    def resume(self, job: Job, say: Say) -> Launched:  # noqa: ARG002
        return ended_before(job)


def mpi_settings() -> dict[str, str]:
    """What mpirun is told by its environment, wherever it runs; what the user has set stays."""
    settings = {**_TIME_TO_FLUSH, **(_AS_ROOT if os.geteuid() == 0 else {})}
    return {name: value for name, value in settings.items() if name not in os.environ}
