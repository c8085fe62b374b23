"""A client of the cluster that was asked for. Whatever was started for it is gone when the client is closed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf.errors import NotSupportedError, ToolAbsentError
from rocm_perf.fleet.cluster.request import (
    SCHEDULER_OPTIONS,
    SLURM,
    WORKER_THREADS,
    WORKER_VARIABLES,
    ClusterRequest,
)
from rocm_perf.fleet.cluster.workers import Workers
from rocm_perf.fleet.launcher import Say
from rocm_perf.memory import usable_bytes
from rocm_perf.units import format_count

if TYPE_CHECKING:
    from distributed import Client

# Dask gives each of these a level of its own.
_LOGS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
_TOO_SMALL = 0.95  # of its memory: a worker that uses more is ended, and its ranks are tried again
_SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": 3,  # workers that may end while they work on one rank
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.memory.terminate": _TOO_SMALL,
    "distributed.admin.low-level-log-length": 0,
}


@contextmanager
def connected(request: ClusterRequest, folder: Path, say: Say) -> Iterator[Workers]:
    """A client with at least one worker that can analyse ranks below the folder; what it takes to get one is said."""
    _require_dask()
    import dask

    for name in _LOGS:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is raised or told by the report
    with dask.config.set(_SETTINGS):
        if request.is_address:
            from rocm_perf.fleet.cluster.remote_workers import remote_workers

            opened = remote_workers(request, folder, say)
        elif request.where == SLURM:
            from rocm_perf.fleet.cluster.slurm_workers import slurm_workers

            opened = slurm_workers(request, folder, say)
        else:
            opened = _local(request)
        with opened as workers:
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
            scheduler_kwargs=SCHEDULER_OPTIONS,
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
