"""A number of every run of both sides, as one change: a run is a process, and several are needed for an interval."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rocm_perf.model.results.comparison import Change, Count
from rocm_perf.statistics import FEWEST_A_SIDE, LEVEL, Difference, difference
from rocm_perf.units import format_count

ONE_RUN_EACH = "one run each: no interval"


def time_change(base: Sequence[float | None], new: Sequence[float | None], *, comparisons: int = 1) -> Change:
    """The change of a time that each run has, or has not; less is better. Where it is one of many, the verdict takes
    a wider interval than the one that is reported (Bonferroni): of 100 kernels that did not change, 5 % would seem to.
    """
    before, after = (tuple(value for value in side if value is not None) for side in (base, new))
    reason = _why_no_interval(before, after)
    measured = _difference(before, after) if reason is None else None
    strict = 1 - (1 - LEVEL) / comparisons
    return Change(
        base=statistics.median(before) if before else None,
        new=statistics.median(after) if after else None,
        ratio=measured.ratio if measured else _ratio(before, after),
        interval=(measured.interval.low, measured.interval.high) if measured and measured.interval else None,
        verdict=_difference(before, after, strict).verdict if measured else "no difference shown",
        base_runs=before,
        new_runs=after,
        no_interval=reason or (_too_few(before, after) if measured and not measured.interval else None),
    )


def count_change(base: Sequence[float], new: Sequence[float]) -> Count:
    """The change of a number that each run has."""
    return Count(
        base=statistics.median(base),
        new=statistics.median(new),
        base_range=(min(base), max(base)),
        new_range=(min(new), max(new)),
    )


def _difference(base: Sequence[float], new: Sequence[float], level: float = LEVEL) -> Difference:
    return difference([[time] for time in base], [[time] for time in new], level=level)


def _why_no_interval(base: Sequence[float], new: Sequence[float]) -> str | None:
    if not base or not new:
        return "on one side only" if base or new else "not recorded"
    if len(base) == len(new) == 1:
        return ONE_RUN_EACH
    if min(*base, *new) <= 0:
        return "it takes no time in some of the runs"
    return None


def _too_few(base: Sequence[float], new: Sequence[float]) -> str:
    sides = f"{format_count(len(base), 'run')} against {len(new)}"
    return f"{sides}: no interval; record {FEWEST_A_SIDE} or more of each side"


def _ratio(base: Sequence[float], new: Sequence[float]) -> float | None:
    if not base or not new or not statistics.median(base):
        return None
    return statistics.median(new) / statistics.median(base)
