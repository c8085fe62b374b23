"""Which workers can analyse ranks: those that run this rocm-perf on this Python and see the recordings. Workers come
and go, so each is asked when it is first seen."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf.errors import NotSupportedError
from rocm_perf.fleet.cluster.workers import SHARE
from rocm_perf.fleet.launcher import Say
from rocm_perf.version import __version__

if TYPE_CHECKING:
    from distributed import Client

_PYTHON = "{}.{}".format(*sys.version_info[:2])
# Asked as text, which a worker understands whatever it has installed; a function of ours it would have to import.
_FACTS = (
    "(__import__('socket').gethostname(), '{}.{}'.format(*__import__('sys').version_info[:2]), "
    "__import__('os').path.exists(folder))"
)
_VERSION = "__import__('rocm_perf.version').version.__version__"
_INSTALL = f"Install this version there, and start it again: pip install 'rocm-perf[cluster]=={__version__}'"


class Recruits:
    """The workers of a client that can analyse the ranks below a folder."""

    def __init__(self, client: Client, folder: Path, say: Say) -> None:
        self._client = client
        self._folder = folder.resolve()
        self._say = say
        self._fit: set[str] = set()
        self._refused: dict[str, NotSupportedError] = {}

    def fit(self) -> list[str]:
        """The addresses of those that are fit, as far as they were asked."""
        return sorted(self._fit)

    def require_one(self) -> bool:
        """Whether there is a worker that can analyse ranks; raises where all that are there are refused, or where the
        scheduler cannot pass ranks on."""
        self._require_scheduler()
        self._look()
        if self._refused and not self._fit:
            raise next(iter(self._refused.values()))
        self._name(self._refused)
        return bool(self._fit)

    def any_left(self) -> bool:
        """Whether there is still such a worker. Those that have come meanwhile are asked, and named if they are
        refused."""
        before = set(self._refused)
        self._look()
        self._name(self._refused.keys() - before)
        return bool(self._fit)

    def _name(self, refused: Iterable[str]) -> None:
        for address in sorted(refused):
            self._say(f"{self._refused[address]} (Other workers do its work meanwhile.)")

    def _require_scheduler(self) -> None:
        """Dask's scheduler imports what it passes on."""
        try:
            version = self._client.run_on_scheduler(eval, _VERSION)
        except OSError:
            return  # it has just ended, which shows soon enough
        except Exception as error:  # noqa: BLE001 - whatever keeps it from importing a package
            version = error
        if reason := _wrong_version(f"the Dask scheduler at {self._client.scheduler.address}", version):
            raise reason

    def _look(self) -> None:
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        present = {address for address, worker in workers.items() if worker["status"] != "closing"}
        self._fit &= present
        unknown = [address for address in present if address not in {*self._fit, *self._refused}]
        if not unknown:
            return
        facts = self._asked(unknown, _FACTS, {"folder": str(self._folder)})
        versions = self._asked(unknown, _VERSION)
        for address in facts.keys() & versions.keys():
            reason = _refusal(address, facts[address], versions[address], self._folder)
            if reason:
                self._refused[address] = reason
            else:
                self._fit.add(address)

    def _asked(self, addresses: list[str], *expression: Any) -> dict[str, Any]:
        """What each worker answers or raises, but for those that have just ended."""
        answers = self._client.run(eval, *expression, workers=addresses, on_error="return")
        return {address: answer for address, answer in answers.items() if not isinstance(answer, OSError)}


def _refusal(address: str, facts: Any, version: Any, folder: Path) -> NotSupportedError | None:
    """Why the worker is given no rank; None if it may have one."""
    if isinstance(facts, Exception):
        return NotSupportedError(f"the worker {address} does not answer", _line(facts), "Start it again.")
    host, python, sees_folder = facts
    worker = f"the worker {address} on {host}"
    if python != _PYTHON:
        return NotSupportedError(
            f"{worker} runs Python {python}", f"this is Python {_PYTHON}", f"Start it with Python {_PYTHON}."
        )
    if reason := _wrong_version(worker, version):
        return reason
    if not sees_folder:
        return NotSupportedError(
            f"{worker} does not see {folder}",
            "there is nothing of that name on that machine",
            SHARE,
        )
    return None


def _wrong_version(who: str, version: Any) -> NotSupportedError | None:
    if isinstance(version, ModuleNotFoundError):
        return NotSupportedError(f"{who} lacks rocm-perf", _line(version), _INSTALL)
    if isinstance(version, Exception):
        return NotSupportedError(f"{who} cannot import rocm-perf", _line(version), _INSTALL)
    if version != __version__:
        return NotSupportedError(f"{who} has rocm-perf {version}", f"this is {__version__}", _INSTALL)
    return None


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
