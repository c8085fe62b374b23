"""A cheat at the gates: closed, as users have them, and open, to see what each gate is there for."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf.errors import RocmPerfError
from rocm_perf.optimize.candidate import Candidate
from rocm_perf.optimize.gates import Gate, Passage
from rocm_perf.optimize.loop.trial import NOTHING_OPEN, Laboratory, Trial, Version, passes


@dataclass(frozen=True)
class Outcome:
    """How far a candidate came."""

    passages: tuple[Passage, ...]
    got_through: bool
    failure: str = ""  # what ended it otherwise, such as a kernel that crashed

    @property
    def stopped_by(self) -> tuple[Gate, ...]:
        """The gates that it did not pass, in their order."""
        return tuple(dict.fromkeys(one.gate for one in self.passages if not one.passed))


def outcome(
    laboratory: Laboratory,
    candidate: Candidate,
    version: Version,
    open_gates: frozenset[Gate] = NOTHING_OPEN,
) -> Outcome:
    """Take a candidate through all stages, until a gate that is closed stops it."""
    trial = Trial.of(candidate, version)
    try:
        got_through = _passes_all(laboratory, trial, open_gates)
    except RocmPerfError as error:
        return Outcome(tuple(trial.passages), got_through=False, failure=str(error))
    return Outcome(tuple(trial.passages), got_through)


def _passes_all(laboratory: Laboratory, trial: Trial, open_gates: frozenset[Gate]) -> bool:
    if not all(passes(stage(trial), trial, open_gates) for stage in (laboratory.looked_at, laboratory.built)):
        return False
    if trial.product is None:
        raise RocmPerfError("there is nothing that could run")
    stages = (laboratory.proven, laboratory.timed, laboratory.confirmed)
    return all(passes(stage(trial), trial, open_gates) for stage in stages)
