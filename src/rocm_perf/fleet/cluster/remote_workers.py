"""Workers of a Dask scheduler that runs already. Others start and end them, so that there may be none for a while: that
is said, and after some time given up."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.errors import InputError, NotSupportedError
from rocm_perf.fleet.cluster.recruits import Recruits
from rocm_perf.fleet.cluster.request import ClusterRequest
from rocm_perf.fleet.cluster.workers import Ended, Workers, waited, worker_command
from rocm_perf.fleet.launcher import Say

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10
_WAIT_S = 300.0  # that there may be no worker, unless --wait says otherwise
_SAY_AGAIN_S = 60.0
_LOOK_S = 1.0  # between two looks at whether the first worker has come


@contextmanager
def remote_workers(request: ClusterRequest, folder: Path, say: Say) -> Iterator[Workers]:
    """A client whose workers are those of the scheduler; at least one of them may be given ranks."""
    absence = Absence(request.where, request.wait_s or _WAIT_S, say)
    with _client_of(request.where) as client:
        recruits = Recruits(client, folder, say)
        while not recruits.require_one():
            if ended := absence.noticed(has_worker=False):
                raise NotSupportedError(ended.what, "no rank was analysed", ended.next_step)
            with suppress(TimeoutError):
                client.wait_for_workers(1, timeout=min(_LOOK_S, absence.left_s))
        yield Workers(client, lambda: absence.noticed(has_worker=recruits.any_left()), recruits.fit)


def _client_of(address: str) -> Client:
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    # What would matter of it is asked of each worker, and said in one line.
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
    try:
        return Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"no Dask scheduler answers at {address}",
            reason,
            "Check the address that `dask scheduler` printed (tcp://HOST:8786), or use --cluster local.",
        ) from error


class Absence:
    """For how long there has been no worker, what is said of it meanwhile, and when it is given up."""

    def __init__(self, address: str, wait_s: float, say: Say) -> None:
        self._address = address
        self._wait_s = wait_s
        self._say = say
        self._since: float | None = None
        self._said: float | None = None

    @property
    def left_s(self) -> float:
        """How long it is still waited for a worker."""
        gone_s = 0.0 if self._since is None else time.monotonic() - self._since
        return max(self._wait_s - gone_s, 0.0)

    def noticed(self, *, has_worker: bool) -> Ended | None:
        """Say that there is no worker, now and then; why that is the end of it, after the time that was allowed."""
        if has_worker:
            self._since = self._said = None
            return None
        now = time.monotonic()
        if self._since is None:
            self._since = now
        start = f"Start one where the recordings are seen: {worker_command(self._address)}"
        if now - self._since >= self._wait_s:
            return Ended(
                f"the scheduler at {self._address} has had no worker for {waited(self._wait_s)} (--wait)",
                f"{start}, and run this again.",
            )
        if self._said is None or now - self._said >= _SAY_AGAIN_S:
            self._said = now
            self._say(
                f"the scheduler at {self._address} has no worker. {start} "
                f"(given up after {waited(self._wait_s)}, see --wait)"
            )
        return None
