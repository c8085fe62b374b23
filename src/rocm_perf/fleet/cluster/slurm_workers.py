"""Workers as a job of SLURM: its script is written and submitted, its workers come to a scheduler in this process, and
the job is cancelled at the end, whatever happens. (dask-jobqueue does the same, but is unmaintained.)"""

from __future__ import annotations

import logging
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.errors import NotSupportedError, RocmPerfError, ToolAbsentError
from rocm_perf.fleet.cluster.request import WORKER_THREADS, WORKER_VARIABLES, ClusterRequest

if TYPE_CHECKING:
    from distributed import Client

_WORKERS = 4
_WORKER_BYTES = 4_000_000_000
_FIRST_WORKER_S = 3600  # that a job may wait in the queue
_LOOK_S = 5.0  # between two looks at the queue
_ORPHANED_S = 60  # a worker that has lost its scheduler ends by itself
_OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE")
_ERROR_LINES = 3


def worker_script(scheduler: str, folder: Path, *, workers: int, memory: int) -> str:
    """The sbatch script of so many workers. Partition, account and time limit are taken from the SBATCH_ variables, as
    sbatch does by itself."""
    command = [
        *(sys.executable, "-m", "distributed.cli.dask_worker", scheduler),
        *("--nthreads", str(WORKER_THREADS), "--memory-limit", str(memory)),
        *("--death-timeout", str(_ORPHANED_S), "--local-directory", "/tmp", "--no-dashboard"),
    ]
    variables = "".join(f"export {name}={value}\n" for name, value in WORKER_VARIABLES.items())
    return (
        "#!/bin/bash\n"
        "#SBATCH --job-name=rocm-perf-workers\n"
        f"#SBATCH --ntasks={workers}\n"
        "#SBATCH --cpus-per-task=1\n"
        f"#SBATCH --mem-per-cpu={-(-memory // 10**6)}M\n"
        f"#SBATCH --output={folder}/workers.log\n"
        f"{variables}"
        f"exec srun --kill-on-bad-exit=0 {shlex.join(command)}\n"
    )


@contextmanager
def slurm_client(request: ClusterRequest) -> Iterator[Client]:
    """A client whose workers are tasks of a job; the first of them has come."""
    from distributed import Client, LocalCluster
    from distributed.utils import get_ip

    with (
        LocalCluster(
            n_workers=0, host=get_ip(), dashboard_address=None, silence_logs=logging.CRITICAL
        ) as scheduler,
        worker_job(request, scheduler.scheduler_address) as job,
        Client(scheduler) as client,
    ):
        job.wait_for_worker(client)
        yield client


@contextmanager
def worker_job(request: ClusterRequest, scheduler: str) -> Iterator[_WorkerJob]:
    """The submitted job; it is cancelled at the end."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-workers-", dir=Path.cwd()) as name:
        folder = Path(name)
        text = worker_script(
            scheduler,
            folder,
            workers=request.workers or _WORKERS,
            memory=request.worker_memory or _WORKER_BYTES,
        )
        (folder / "workers.sh").write_text(text)
        job = _WorkerJob(run_slurm("sbatch", "--parsable", str(folder / "workers.sh")).split(";")[0], folder)
        try:
            yield job
        finally:
            run_slurm("scancel", job.number)


class _WorkerJob:
    """A submitted job of workers."""

    def __init__(self, number: str, folder: Path) -> None:
        self.number = number
        self._folder = folder

    def wait_for_worker(self, client: Client) -> None:
        """Return once a worker has come; raise if the job ended before, or stays in the queue."""
        deadline = time.monotonic() + _FIRST_WORKER_S
        while not client.scheduler_info(n_workers=-1)["workers"]:
            state = self._state()
            if state in _OVER or time.monotonic() > deadline:
                raise self._no_worker(state)
            try:
                client.wait_for_workers(1, timeout=_LOOK_S)
            except TimeoutError:
                continue

    def _state(self) -> str:
        """The state of the job in SLURM's words; a job that the queue has forgotten is over."""
        try:
            return run_slurm("squeue", "--noheader", "--jobs", self.number, "--format=%T") or "COMPLETED"
        except RocmPerfError:
            return "COMPLETED"

    def _no_worker(self, state: str) -> NotSupportedError:
        log = self._folder / "workers.log"
        lines = log.read_text(errors="replace").splitlines()[-_ERROR_LINES:] if log.exists() else []
        return NotSupportedError(
            f"no worker came from SLURM job {self.number}",
            f"it is {state.lower()}" + (f" and wrote: {' / '.join(lines)}" if lines else ""),
            "Set SBATCH_PARTITION, SBATCH_ACCOUNT or SBATCH_TIMELIMIT as your cluster needs them, or use --cluster "
            "local.",
        )


def run_slurm(*command: str) -> str:
    """What a program of SLURM prints; raises if it is absent or refuses."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise ToolAbsentError(
            "--cluster slurm needs SLURM",
            f"{command[0]} is not on the PATH",
            "Run it on a login node, or use local.",
        ) from error
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()
        raise NotSupportedError(
            f"{command[0]} failed", reason[-1] if reason else f"exit code {error.returncode}"
        ) from error
    return done.stdout.strip()
