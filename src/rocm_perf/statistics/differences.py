"""Whether new times differ from old ones, by how much, and what that holds for."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rocm_perf.statistics import series
from rocm_perf.statistics.intervals import LEVEL, Interval, process_medians
from rocm_perf.statistics.ranks import shift_place
from rocm_perf.statistics.student import exponential, t_quantile

Verdict = Literal["better", "worse", "no difference shown"]

FEWEST_A_SIDE = 3  # processes, unless one side has so many that ranks decide (2 against 8, 1 against 39)
_CAUTION = 0.6  # of what a level allows to be wrong, for Student: times that are flat or have two modes miss more often


@dataclass(frozen=True)
class Difference:
    """New times over old ones."""

    ratio: float  # new / base: below 1 is faster
    interval: (
        Interval | None
    )  # of the ratio; None: too few processes, or one a side with fewer than 10 samples
    verdict: Verdict

    @property
    def speedup(self) -> float:
        """How many times as fast new is as base."""
        return 1 / self.ratio


def difference(
    base: Sequence[Sequence[float]],
    new: Sequence[Sequence[float]],
    *,
    level: float = LEVEL,
    margin: float = 0.0,
) -> Difference:
    """How the processes of `new` compare with those of `base`. A difference is shown only where the interval leaves
    out 1 by more than the margin, which is a share. With one process a side it holds for those two alone. With fewer
    than three on a side there is no interval: any would be wrong too often for times that have two modes, say."""
    medians = process_medians(base), process_medians(new)
    if len(medians[0]) == len(medians[1]) == 1:
        ratio, bounds = _alone(base[0], new[0], level)
    else:
        ratio, bounds = _over_processes(*medians, level)
    return Difference(ratio, bounds, verdict(bounds, margin))


def verdict(bounds: Interval | None, margin: float = 0.0) -> Verdict:
    """What an interval of new / base times shows."""
    if bounds is not None and bounds.high < 1 / (1 + margin):
        return "better"
    if bounds is not None and bounds.low > 1 + margin:
        return "worse"
    return "no difference shown"


def _alone(base: Sequence[float], new: Sequence[float], level: float) -> tuple[float, Interval | None]:
    ratio = series.median_ratio(new, base, level)
    return ratio.value, ratio.interval and Interval(*ratio.interval, level, "this process alone")


def one_more(earlier: Sequence[float], new: float, level: float = LEVEL) -> Difference:
    """Compare one new time with at least three earlier ones, taking their logarithms as normal.

    No method can promise more: of n + 1 times that have nothing to do with each other, any is the largest with a chance
    of 1 / (n + 1). Times with two modes or a long tail are called different more often than the level says, so this
    alone decides nothing but whether to doubt another verdict (docs/measuring.md has the rates).
    """
    bounds = Interval(*_student(earlier, [new], level), level, "over processes")
    return Difference(new / series.median(earlier), bounds, verdict(bounds))


def _over_processes(
    base: Sequence[float], new: Sequence[float], level: float
) -> tuple[float, Interval | None]:
    """The median of all ratios between a new and a base process (Hodges and Lehmann's shift, on logarithms), with the
    interval that Mann and Whitney's test inverts to; of three processes a side Student's."""
    ratios = sorted(after / before for before in base for after in new)
    ratio, place = series.median(ratios), shift_place(len(base), len(new), level)
    if place is not None:
        return ratio, Interval(ratios[place], ratios[-1 - place], level, "over processes")
    if min(len(base), len(new)) < FEWEST_A_SIDE:
        return ratio, None
    low, high = _student(base, new, 1 - _CAUTION * (1 - level))
    return ratio, Interval(min(low, ratio), max(high, ratio), level, "over processes")


def _student(base: Sequence[float], new: Sequence[float], level: float) -> tuple[float, float]:
    """Student's interval of the difference of mean logarithms, with one spread for both sides: a side may be a single
    process."""
    old, late = [math.log(value) for value in base], [math.log(value) for value in new]
    freedom = len(old) + len(late) - 2
    spread = math.sqrt((_squares(old) + _squares(late)) / freedom)
    shift = statistics.fmean(late) - statistics.fmean(old)
    reach = t_quantile(level, freedom) * spread * math.sqrt(1 / len(old) + 1 / len(late))
    return exponential(shift - reach), exponential(shift + reach)


def _squares(values: Sequence[float]) -> float:
    """The sum of squared distances from the mean."""
    centre = statistics.fmean(values)
    return sum((value - centre) ** 2 for value in values)
