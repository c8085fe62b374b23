"""Workers as a job of SLURM: its script is written and submitted, its workers come to a scheduler in this process, and
the job is cancelled at the end, whatever happens. (dask-jobqueue does the same, but is unmaintained.)"""

from __future__ import annotations

import logging
import shlex
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.errors import NotSupportedError
from rocm_perf.fleet.cluster.recruits import Recruits
from rocm_perf.fleet.cluster.request import (
    SCHEDULER_OPTIONS,
    WORKER_THREADS,
    WORKER_VARIABLES,
    ClusterRequest,
)
from rocm_perf.fleet.cluster.workers import Ended, Workers, waited
from rocm_perf.fleet.launcher import Say
from rocm_perf.fleet.slurm import commands
from rocm_perf.fleet.slurm.follow import pauses_s
from rocm_perf.fleet.slurm.states import JobStatus, ending, progress

if TYPE_CHECKING:
    from distributed import Client

_LOG = "workers.log"
_WORKERS = 4
_WORKER_BYTES = 4_000_000_000
_WAIT_S = 3600.0  # that the first worker may take, unless --wait says otherwise
_QUIET_S = 5.0  # in which most jobs start: nothing is said before
_SAY_AGAIN_S = 60.0  # what has not changed
_ORPHANED_S = 60  # a worker that has lost its scheduler ends by itself
_ERROR_LINES = 5  # of the log of workers
_ADVICE = (
    "Set SBATCH_PARTITION, SBATCH_ACCOUNT or SBATCH_TIMELIMIT as your cluster needs them, ask for less with --workers "
    "or --worker-memory, or use --cluster local."
)

_MORE_TIME = "Run it again with more time (SBATCH_TIMELIMIT=HH:MM:SS), or with more --workers."
_AGAIN = defaultdict(
    lambda: "Run it again.",
    TIMEOUT=_MORE_TIME,
    DEADLINE=_MORE_TIME,
    OUT_OF_MEMORY="Run it again with more --worker-memory.",
)  # what to do after a job that ended in the middle of the work


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
        f"#SBATCH --output={folder}/{_LOG}\n"
        f"{variables}"
        f"exec srun --kill-on-bad-exit=0 {shlex.join(command)}\n"
    )


@contextmanager
def slurm_workers(request: ClusterRequest, folder: Path, say: Say) -> Iterator[Workers]:
    """A client whose workers are tasks of a job; the first of them has come. What keeps it from coming is said."""
    from distributed import Client, LocalCluster
    from distributed.utils import get_ip

    commands.check_here("--cluster slurm", "--cluster local analyses the ranks here.")
    with (
        LocalCluster(
            n_workers=0,
            host=get_ip(),
            dashboard_address=None,
            scheduler_kwargs=SCHEDULER_OPTIONS,
            silence_logs=logging.CRITICAL,
        ) as scheduler,
        worker_job(request, scheduler.scheduler_address) as job,
        Client(scheduler) as client,
    ):
        job.wait_for_worker(client, say)
        recruits = Recruits(client, folder, say)
        recruits.require_one()
        yield Workers(client, lambda: job.ended(has_worker=recruits.any_left()), recruits.fit)


@contextmanager
def worker_job(request: ClusterRequest, scheduler: str) -> Iterator[WorkerJob]:
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
        job = WorkerJob(_submitted(folder / "workers.sh"), folder / _LOG, request.wait_s or _WAIT_S)
        try:
            yield job
        finally:
            commands.cancel(job.number)


def _submitted(script: Path) -> str:
    try:
        return commands.submit(("sbatch", "--parsable", str(script)), str(Path.cwd()))
    except NotSupportedError as error:
        raise NotSupportedError("sbatch refused the job of workers", error.why, _ADVICE) from error


class WorkerJob:
    """A submitted job of workers, which writes a log, and has so many seconds to bring the first of them, or another
    where all have gone."""

    def __init__(self, number: str, log: Path, wait_s: float) -> None:
        self.number = number
        self._log = log
        self._wait_s = wait_s
        self._alone_since: float | None = None

    def wait_for_worker(self, client: Client, say: Say) -> None:
        """Return once a worker has come, and say now and then what the job waits for; raise if it has ended before, or
        takes too long."""
        begun = time.monotonic()
        last, said_s = "", 0.0
        for pause_s in pauses_s():
            if _has_workers(client):
                return
            status, waited_s = commands.status_of(self.number), time.monotonic() - begun
            if status is not None and status.ended:
                raise self._without_worker(_ended(status))
            line = self._standing(status)
            if waited_s >= self._wait_s:
                raise self._without_worker(
                    f"none came within {waited(self._wait_s)} (--wait), and the job is cancelled; {line}"
                )
            if waited_s >= _QUIET_S and (line != last or waited_s - said_s >= _SAY_AGAIN_S):
                say(f"{line} ({waited(waited_s)}; given up after {waited(self._wait_s)}, see --wait)")
                last, said_s = line, waited_s
            with suppress(TimeoutError):
                client.wait_for_workers(1, timeout=min(pause_s, self._wait_s - waited_s))

    def ended(self, *, has_worker: bool) -> Ended | None:
        """Why no worker will come again; None as long as there is one. A job that was put back into the queue may
        take as long as at first."""
        if has_worker:
            self._alone_since = None
            return None
        now = time.monotonic()
        if self._alone_since is None:
            self._alone_since = now
        status = commands.status_of(self.number)
        if status is not None and status.ended:
            return Ended(f"{ending(self.number, status)}, and its workers are gone", _AGAIN[status.state])
        if now - self._alone_since < self._wait_s:
            return None
        return Ended(
            f"the workers are gone, and none came back within {waited(self._wait_s)}; {self._standing(status)}",
            "Wait longer with --wait, or run it again.",
        )

    def _standing(self, status: JobStatus | None) -> str:
        """What there is to say of a job that has brought no worker yet."""
        if status is None:
            return f"SLURM does not answer how job {self.number} stands"
        sentence = progress(self.number, status)
        return f"{sentence}, but no worker has come yet" if status.live else sentence

    def _without_worker(self, why: str) -> NotSupportedError:
        written = self._log.read_text(errors="replace").split("\n") if self._log.exists() else []
        lines = [line.strip() for line in written if line.strip()][-_ERROR_LINES:]
        log = f". Its log ends with: {' / '.join(lines)}" if lines else ". Its log is empty"
        return NotSupportedError(f"no worker came from SLURM job {self.number}", f"{why}{log}", _ADVICE)


def _has_workers(client: Client) -> bool:
    return bool(client.scheduler_info(n_workers=-1)["workers"])


def _ended(status: JobStatus) -> str:
    state = status.state.lower().replace("_", " ")
    return f"it has ended as {state}" + (f", with exit code {status.exit_code}" if status.exit_code else "")
