"""A client of the cluster that was asked for. Whatever was started for it is gone when the client is closed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rocm_perf.errors import InputError, NotSupportedError, ToolAbsentError
from rocm_perf.fleet.cluster.request import SLURM, WORKER_THREADS, WORKER_VARIABLES, ClusterRequest
from rocm_perf.fleet.cluster.workers import Workers
from rocm_perf.fleet.launcher import Say
from rocm_perf.memory import usable_bytes
from rocm_perf.units import format_count
from rocm_perf.version import __version__

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10
_WORKERS_S = 60  # that a running scheduler is given to have a worker
_TOO_SMALL = 0.95  # of its memory: a worker that uses more is ended, and its ranks are tried again
_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": 3,  # workers that may end while they work on one rank
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.memory.terminate": _TOO_SMALL,
    "distributed.admin.low-level-log-length": 0,
}


@contextmanager
def connected(request: ClusterRequest, say: Say) -> Iterator[Workers]:
    """A client with at least one worker that can run this version of rocm-perf; what it takes to get one is said."""
    _require_dask()
    import dask

    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is raised or told by the report
    with dask.config.set(_SETTINGS):
        if request.is_address:
            opened = _remote(request.where)
        elif request.where == SLURM:
            from rocm_perf.fleet.cluster.slurm_workers import slurm_workers

            opened = slurm_workers(request, say)
        else:
            opened = _local(request)
        with opened as workers:
            require_same_version(workers.client)
            yield workers


def worker_limit(client: Client) -> int | None:
    """The memory that the smallest worker may use; None where workers have no limit."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return min((worker["memory_limit"] for worker in workers if worker["memory_limit"]), default=None)


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ToolAbsentError(
            "--cluster needs Dask",
            f"{error.name} is not installed",
            "Install it: pip install 'rocm-perf[cluster]'",
        ) from error


@contextmanager
def _local(request: ClusterRequest) -> Iterator[Workers]:
    from distributed import Client, LocalCluster

    workers = request.workers or len(os.sched_getaffinity(0))
    usable = usable_bytes()
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=WORKER_THREADS,
            memory_limit=request.worker_memory or (usable // workers if usable is not None else 0),
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            env=WORKER_VARIABLES,
        )
    except (RuntimeError, TimeoutError) as error:
        raise NotSupportedError(
            f"{format_count(workers, 'worker')} could not be started",
            str(error) or "they did not answer in time",
            "Ask for fewer with --workers.",
        ) from error
    with cluster, Client(cluster) as client:
        yield Workers(client)


@contextmanager
def _remote(address: str) -> Iterator[Workers]:
    from distributed import Client

    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"no Dask scheduler answers at {address}",
            reason,
            "Check the address that `dask scheduler` printed (tcp://HOST:8786), or use --cluster local.",
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_WORKERS_S)
        except TimeoutError as error:
            raise NotSupportedError(
                f"the scheduler at {address} has no worker",
                f"none came within {_WORKERS_S} s",
                f"Start some: dask worker {address}",
            ) from error
        yield Workers(client)


def require_same_version(client: Client) -> None:
    """Raise unless every worker runs the rocm-perf that this is: others may count differently."""
    for address, answer in client.run(_version, on_error="return").items():
        if isinstance(answer, OSError):
            continue  # it has just ended, and its ranks are another's
        if isinstance(answer, ModuleNotFoundError):
            raise NotSupportedError(
                "a worker of the cluster lacks rocm-perf", str(answer), "Install it where the workers run."
            )
        if isinstance(answer, Exception):
            raise answer
        if answer != __version__:
            raise NotSupportedError(
                f"the worker {address} has rocm-perf {answer}",
                f"this is {__version__}",
                "Install the same version where the workers run.",
            )


def _version() -> str:
    from rocm_perf.version import __version__ as installed

    return installed
