"""Runs that can be compared, in the order in which they were measured, and where their times changed for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rocm_perf.bench.history.records import Conditions, SavedRun
from rocm_perf.statistics import Difference, difference
from rocm_perf.statistics.steps import levels


@dataclass(frozen=True, kw_only=True)
class StepChange:
    """A change of level between two runs, each level with its runs as the unit."""

    place: int  # of the first run after it
    before: SavedRun  # the last run of the old level
    after: SavedRun  # the first run of the new one
    difference: Difference


@dataclass(frozen=True, kw_only=True)
class Series:
    """Comparable runs, the oldest first."""

    conditions: Conditions
    runs: tuple[SavedRun, ...]
    steps: tuple[StepChange, ...]

    @property
    def medians_ms(self) -> list[float]:
        return [run.result.median_ms for run in self.runs]


def series_of(runs: Iterable[SavedRun]) -> list[Series]:
    """The sound runs, apart by their conditions; the series with the newest run is the last."""
    groups: dict[Conditions, list[SavedRun]] = {}
    for run in runs:
        if run.is_sound:
            groups[run.conditions] = [*groups.pop(run.conditions, []), run]
    return [
        Series(conditions=conditions, runs=tuple(group), steps=step_changes(group))
        for conditions, group in groups.items()
    ]


def step_changes(runs: Sequence[SavedRun]) -> tuple[StepChange, ...]:
    """Where the times of comparable runs changed for good."""
    medians = [run.result.median_ms for run in runs]
    parts = levels(medians)
    return tuple(
        StepChange(
            place=start,
            before=runs[start - 1],
            after=runs[start],
            difference=difference(_each(medians[first:start]), _each(medians[start:end])),
        )
        for (first, _), (start, end) in pairwise(parts)
    )


def _each(medians: Sequence[float]) -> list[list[float]]:
    return [[median] for median in medians]
