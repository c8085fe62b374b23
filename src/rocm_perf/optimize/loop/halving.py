"""Which trials are worth a longer look: those that were fast in a short one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rocm_perf.model.results.optimize import Speedup
from rocm_perf.optimize.loop.trial import Trial

RUNGS = (20, 60)  # launches of each side; the final measurement is far longer
Race = Callable[[Sequence[Trial], int], Sequence["Speedup | None"]]  # None: it could not be run


class Field(NamedTuple):
    """Trials after the first looks at their times."""

    hopeful: list[Trial]  # the most promising first
    hopeless: list[Trial]


def raced(trials: Sequence[Trial], race: Race, least_gain: float) -> Field:
    """Which trials may gain that much.

    All run the first rung; the faster half of those that are left runs each further one. A slower one is never dropped
    for being slower than another: it waits behind it.
    """
    left, hopeless = list(trials), []
    for rung, launches in enumerate(RUNGS):
        ahead = len(left) if rung == 0 else (len(left) + 1) // 2
        running, waiting = left[:ahead], left[ahead:]
        for trial, speedup in zip(running, race(running, launches), strict=True):
            trial.replay = speedup
        ran = [(trial, trial.replay) for trial in running if trial.replay]
        hopeless += [trial for trial, pace in ran if not may_gain(pace, least_gain)]
        fast = [(trial, pace.value) for trial, pace in ran if may_gain(pace, least_gain)]
        left = [trial for trial, _ in sorted(fast, key=lambda pair: -pair[1])] + waiting
    return Field(left, hopeless)


def may_gain(speedup: Speedup, least_gain: float) -> bool:
    """Whether the interval leaves room for the gain."""
    _, highest = speedup.interval or (speedup.value, speedup.value)
    return highest >= 1 + least_gain
