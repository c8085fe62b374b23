"""The ledger: every attempt as a line of JSON, added when its fate is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from rocm_perf.errors import InputError, OutputError
from rocm_perf.model.results.optimize import Attempt, Verdict
from rocm_perf.optimize.candidate import Refused
from rocm_perf.optimize.loop.trial import Trial

Heard = Callable[[Attempt], None]


class Ledger:
    """Attempts, those of earlier runs on the same source included."""

    def __init__(self, path: Path, name: str, heard: Heard) -> None:
        """`name` is the source's, for the patches; `heard` is told of every attempt."""
        self._path, self._name, self._heard = path, name, heard
        self.attempts: list[Attempt] = read_attempts(path)
        self._keys = {one.key for one in self.attempts}

    def knows(self, key: str) -> bool:
        """Whether the same change of the same version was tried before."""
        return key in self._keys

    def add(self, trial: Trial, round_number: int, verdict: Verdict, reason: str) -> None:
        """Enter the fate of a trial; it is on disk when this returns."""
        number = len(self.attempts) + 1
        self._enter(trial.attempt(number, round_number, verdict=verdict, reason=reason, name=self._name))

    def add_refused(self, refused: Refused, round_number: int) -> None:
        """Enter a change that was not even proposed, once."""
        attempt = refused_attempt(refused, len(self.attempts) + 1, round_number)
        if not self.knows(attempt.key):
            self._enter(attempt)

    def _enter(self, attempt: Attempt) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(attempt) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OutputError(
                f"cannot write the ledger {self._path}", error.strerror or str(error)
            ) from error
        self.attempts.append(attempt)
        self._keys.add(attempt.key)
        self._heard(attempt)


def refused_attempt(refused: Refused, number: int, round_number: int) -> Attempt:
    """The line for a change that was not even proposed."""
    return Attempt(
        number=number,
        round=round_number,
        key=f"{refused.by}: {refused.name}: {refused.reason}",
        name=refused.name,
        by=refused.by,
        verdict="not proposed",
        reason=refused.reason,
    )


def read_attempts(path: Path) -> list[Attempt]:
    """The attempts of a ledger; none where there is no file. A last line that a kill cut off is left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot read the ledger {path}", error.strerror or str(error)) from error
    whole = [line for line in lines[:-1] if line]
    try:
        return [msgspec.json.decode(line, type=Attempt) for line in whole]
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} is not a ledger of attempts",
            str(error),
            "Move it away, or give --fresh to start a new one.",
        ) from error
