"""The search: candidates of a version, those that hold are accepted, and the next round starts from there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rocm_perf.errors import RocmPerfError
from rocm_perf.model.results.optimize import Attempt, Speedup, Verdict
from rocm_perf.optimize.candidate import Candidate, Refused
from rocm_perf.optimize.gates import Gate, Passage
from rocm_perf.optimize.loop.budget import Budget
from rocm_perf.optimize.loop.halving import raced
from rocm_perf.optimize.loop.ledger import Ledger
from rocm_perf.optimize.loop.trial import NOTHING_OPEN, Laboratory, Trial, Version, passes
from rocm_perf.optimize.proposers.unified import diff_edits

Propose = Callable[[Version, Sequence[Attempt]], Sequence["Candidate | Refused"]]
Stage = Callable[[Trial], Iterator[Passage]]


@dataclass(frozen=True)
class Found:
    """What the search came to."""

    version: Version  # with everything that was accepted
    rounds: int  # how many changes that is
    stopped: str | None  # what ended the search early


@dataclass
class Search:
    """Rounds of candidates: each round changes the version that the one before accepted."""

    laboratory: Laboratory
    propose: Propose
    ledger: Ledger
    budget: Budget
    least_gain: float
    open_gates: frozenset[Gate] = NOTHING_OPEN
    _round: int = field(default=0, init=False)

    def run(self, start: Version) -> Found:
        """Accept what holds, until nothing more does or the budget is spent. What an earlier run accepted is where
        this one starts."""
        version = self._resumed(start)
        while not self.budget.late:
            tried_before = self.budget.spent_attempts
            better = self._one_round(version)
            if better is not None:
                version, self._round = better, self._round + 1
            elif self.budget.spent_attempts == tried_before:
                break  # who proposes has seen what came of everything, and has nothing new
        return Found(version, self._round, self.budget.spent)

    def _resumed(self, start: Version) -> Version:
        """The version with all that the ledger has accepted, one change after the other."""
        version = start
        for attempt in self.ledger.attempts:
            if attempt.verdict == "accepted" and attempt.key.startswith(version.digest):
                trial = Trial.of(accepted_before(attempt, version.text), version)
                if not passes(self.laboratory.built(trial), trial, self.open_gates):
                    break
                version, self._round = trial.version, self._round + 1
        return version

    def _one_round(self, base: Version) -> Version | None:
        """The first candidate of this version that gets past every gate, the most promising first."""
        field_of_trials = raced(self._admitted(base), self._race, self.least_gain)
        for trial in field_of_trials.hopeless:
            self._enter(trial, "no gain", f"{_pace(trial.replay)}, in a first look")
        for trial in field_of_trials.hopeful:
            if self.budget.late:
                return None
            if self._holds(trial):
                self._enter(trial, "accepted", f"{_pace(trial.replay)}, and every gate passed")
                return trial.version
        return None

    def _admitted(self, base: Version) -> list[Trial]:
        """Candidates that have not been tried, look right and build."""
        laboratory = self.laboratory
        looked_at = [trial for trial in self._untried(base) if self._through(trial, laboratory.looked_at)]
        laboratory.prepare(looked_at)
        return [trial for trial in looked_at if self._through(trial, laboratory.built)]

    def _untried(self, base: Version) -> Iterator[Trial]:
        """Candidates that neither this run nor an earlier one has tried, as many as the budget allows."""
        seen: set[str] = set()
        for candidate in self.propose(base, self.ledger.attempts):
            if isinstance(candidate, Refused):
                self.ledger.add_refused(candidate, self._round)
                continue
            if self.budget.spent:
                return
            trial = Trial.of(candidate, base)
            if self.ledger.knows(trial.key) or trial.key in seen:
                continue
            seen.add(trial.key)
            self.budget.spent_attempts += 1
            yield trial

    def _holds(self, trial: Trial) -> bool:
        laboratory = self.laboratory
        return self._through(trial, laboratory.proven, laboratory.timed, laboratory.confirmed)

    def _through(self, trial: Trial, *stages: Stage) -> bool:
        """Whether the trial gets past these stages; if not, that is its verdict."""
        try:
            with _clocked(trial):
                if all(passes(stage(trial), trial, self.open_gates) for stage in stages):
                    return True
        except RocmPerfError as error:
            self._enter(trial, "failed", str(error))
            return False
        last = trial.passages[-1]
        self._enter(trial, "no gain" if last.gate == "gain" else "rejected", f"{last.gate}: {last.words}")
        return False

    def _race(self, trials: Sequence[Trial], launches: int) -> Sequence[Speedup | None]:
        """A first look at the times of trials. Where one cannot be run, each is tried alone: that is its verdict."""
        if not trials:
            return []
        try:
            with _clocked(*trials):
                return self.laboratory.raced(trials, launches)
        except RocmPerfError as error:
            if len(trials) > 1:
                return [speedup for trial in trials for speedup in self._race([trial], launches)]
            self._enter(trials[0], "failed", str(error))
            return [None]

    def _enter(self, trial: Trial, verdict: Verdict, reason: str) -> None:
        self.ledger.add(trial, self._round, verdict, reason)


def accepted_before(attempt: Attempt, text: bytes) -> Candidate:
    """The candidate that a line of the ledger describes."""
    edits = diff_edits(attempt.patch, text) if attempt.patch else ()
    return Candidate(
        name=attempt.name, by=attempt.by, edits=edits, flags=attempt.flags, geometry=attempt.geometry
    )


@contextmanager
def _clocked(*trials: Trial) -> Iterator[None]:
    """Add the time that this takes to the trials, in equal parts."""
    begun = time.monotonic()
    try:
        yield
    finally:
        for trial in trials:
            trial.seconds += (time.monotonic() - begun) / len(trials)


def _pace(speedup: Speedup | None) -> str:
    if speedup is None:
        return "not timed"
    low, high = speedup.interval or (speedup.value, speedup.value)
    return f"{speedup.value:.3f}x [{low:.3f}, {high:.3f}]"
