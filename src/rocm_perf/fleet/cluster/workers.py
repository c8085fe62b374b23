"""The workers of a client, which of them are fit for ranks, and how it becomes known that they are gone for good."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf.fleet.cluster.request import WORKER_THREADS, WORKER_VARIABLES

if TYPE_CHECKING:
    from distributed import Client

SHARE = "Put the recordings into a folder that all machines share under the same path."


@dataclass(frozen=True)
class Ended:
    """Why no worker will work again, and what to do about it."""

    what: str
    next_step: str


def _go_on() -> Ended | None:
    return None


def _any_of_them() -> list[str] | None:
    return None


@dataclass(frozen=True)
class Workers:
    """A client with workers. `ended` says why none of them will work again, or None as long as some may; `fit` which
    of them are known to be able to analyse a rank, or None where all are."""

    client: Client
    ended: Callable[[], Ended | None] = _go_on
    fit: Callable[[], list[str] | None] = _any_of_them


def worker_command(scheduler: str) -> str:
    """What starts a worker on any machine that reaches the scheduler."""
    variables = (f"{name}={value}" for name, value in WORKER_VARIABLES.items())
    return shlex.join((*variables, "dask", "worker", scheduler, "--nthreads", str(WORKER_THREADS)))


def waited(seconds: float) -> str:
    """How long something was waited for, or will be: '90 s'."""
    return f"{seconds:,.0f} s" if seconds >= 1 else f"{seconds:g} s"
