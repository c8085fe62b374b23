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


@dataclass(frozen=True)
class Difference:
    """New times over old ones."""

    ratio: float  # new / base: below 1 is faster
    interval: Interval | None  # of the ratio; None: one process a side, with fewer than 10 samples
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
    out 1 by more than the margin, which is a share. With one process a side it holds for those two alone."""
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


def _over_processes(base: Sequence[float], new: Sequence[float], level: float) -> tuple[float, Interval]:
    """The median of all ratios between a new and a base process (Hodges and Lehmann's shift, on logarithms), with the
    interval that Mann and Whitney's test inverts to; of too few processes Student's."""
    ratios = sorted(after / before for before in base for after in new)
    place = shift_place(len(base), len(new), level)
    low, high = _of_few(base, new, level) if place is None else (ratios[place], ratios[-1 - place])
    return series.median(ratios), Interval(low, high, level, "over processes")


def _of_few(base: Sequence[float], new: Sequence[float], level: float) -> tuple[float, float]:
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
