"""The interval of a time: of the median process, from the medians of several, or of one process alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rocm_perf.statistics import series
from rocm_perf.statistics.ranks import median_place
from rocm_perf.statistics.student import exponential, t_quantile

LEVEL = 0.95
Scope = Literal["over processes", "this process alone"]


@dataclass(frozen=True)
class Interval:
    """Where the value lies at this level, and what that holds for."""

    low: float
    high: float
    level: float
    scope: Scope


def interval(processes: Sequence[Sequence[float]], level: float = LEVEL) -> Interval | None:
    """Where the median process's median lies. Of one process it is the interval of its own median; None if that has
    fewer than 10 samples."""
    medians = process_medians(processes)
    if len(medians) == 1:
        alone = series.median_interval(processes[0], level)
        return alone and Interval(*alone, level, "this process alone")
    place = median_place(len(medians), level)
    low, high = _of_few(medians, level) if place is None else (medians[place], medians[-1 - place])
    return Interval(low, high, level, "over processes")


def process_medians(processes: Sequence[Sequence[float]]) -> list[float]:
    """The median of each process, the smallest first."""
    if not processes or not all(processes):
        raise ValueError("a process without samples")
    return sorted(series.median(samples) for samples in processes)


def _of_few(medians: Sequence[float], level: float) -> tuple[float, float]:
    """Fewer than six values bound no median at 95 % by themselves: Student's interval on their logarithms, which takes
    them as log-normal, and never narrower than the values themselves."""
    logs = [math.log(value) for value in medians]
    centre = statistics.fmean(logs)
    reach = t_quantile(level, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return min(medians[0], exponential(centre - reach)), max(medians[-1], exponential(centre + reach))
