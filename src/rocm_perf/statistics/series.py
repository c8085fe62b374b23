"""The statistics of one series of measurements, and of two: medians, quantiles, bootstrap intervals, differences.

The bootstrap is exact and does not resample: the k-th smallest of m draws from n sorted samples is the one at place
n * U, where U is the k-th smallest of m uniform numbers and has a Beta(k, m - k + 1) distribution (David and Nagaraja,
Order Statistics). So a resampled median costs the same for any n.

A bootstrap takes the samples for independent. Those that follow each other on a GPU are not: its clock drifts. So as
many are drawn as independent ones would tell as much (`effective_count`), which makes intervals wider. With 100 samples
that are correlated by 0.5 with the one before, an interval "at 95 %" then holds the median in about 92 % of cases, and
not in 79 %; by 0.9 in 87 %, and not in 40 %. With 20 samples it is 89 % and 63 %: too few to tell. Tests simulate it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

CONFIDENCE = 0.95
RESAMPLES = 4_000
FEWEST_SAMPLES = (
    10  # with fewer, the interval misses the median clearly more often than it says (tests simulate it)
)
_SEED = 7

Interval = tuple[float, float]
Pace = Literal["better", "worse", "no difference shown"]


@dataclass(frozen=True)
class Summary:
    """One series of measurements."""

    count: int
    median: float
    interval: Interval | None  # of the median; None: too few samples
    mean: float
    p5: float
    p95: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Ratio:
    """The median of one series over that of another."""

    value: float
    interval: Interval | None


def median(samples: Sequence[float]) -> float:
    return quantile(samples, 0.5)


def quantile(samples: Sequence[float], share: float) -> float:
    """Between the two samples next to it, by linear interpolation (Hyndman and Fan's type 7)."""
    if not samples:
        raise ValueError("a quantile of no samples")
    ordered = sorted(samples)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    if ordered[low] == ordered[high]:
        return ordered[low]
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def summary(samples: Sequence[float], confidence: float = CONFIDENCE) -> Summary:
    """Everything that is reported of one series."""
    return Summary(
        count=len(samples),
        median=median(samples),
        interval=median_interval(samples, confidence),
        mean=sum(samples) / len(samples),
        p5=quantile(samples, 0.05),
        p95=quantile(samples, 0.95),
        lowest=min(samples),
        highest=max(samples),
    )


def median_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Bootstrap percentile interval of the median, of samples in the order in which they were taken; always the same
    for the same samples."""
    if len(samples) < FEWEST_SAMPLES:
        return None
    medians = _resampled_medians(samples, effective_count(samples), random.Random(_SEED))
    return _middle(medians, confidence)


def median_ratio(above: Sequence[float], below: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """The median of `above` over that of `below`. Both are resampled independently, which is cautious for interleaved
    series: what slows both down at once counts as noise of each."""
    value = median(above) / median(below)
    if min(len(above), len(below)) < FEWEST_SAMPLES:
        return Ratio(value, None)
    source = random.Random(_SEED)
    counts = _effective_counts(above, below)
    upper, lower = (
        _resampled_medians(samples, count, source)
        for samples, count in zip((above, below), counts, strict=True)
    )
    return Ratio(value, _middle([one / other for one, other in zip(upper, lower, strict=True)], confidence))


def _effective_counts(above: Sequence[float], below: Sequence[float]) -> tuple[int, int]:
    """Of interleaved series those of their ratios, in which a drift of both cancels out."""
    if len(above) != len(below):
        return effective_count(above), effective_count(below)
    count = effective_count([one / other for one, other in zip(above, below, strict=True)])
    return count, count


def effective_count(samples: Sequence[float]) -> int:
    """How many independent samples would tell as much about the median.

    The median's variance is that of the signs of the samples' distances from it. Their autocorrelation at lag 1, freed
    of its bias (Kendall 1954), gives that of a Gaussian AR(1) series by Sheppard's arcsine law, and this all others.
    """
    count, centre = len(samples), median(samples)
    signs = [(one > centre) - (one < centre) for one in samples]
    different = sum(map(abs, signs))
    if not different:
        return count
    seen = sum(one * following for one, following in pairwise(signs)) / different
    unbiased = min(max(seen + (1 + 3 * seen) / count, 0), 1)
    step = math.sin(math.pi / 2 * unbiased)
    others = sum((1 - lag / count) * math.asin(step**lag) for lag in range(1, count))
    return max(1, int(count / (1 + 4 / math.pi * others)))


def verdict(speedup: Ratio, noise: float = 0.0) -> Pace:
    """The pace of new against old: a difference only where the interval leaves out 1 by more than the noise."""
    if speedup.interval is None:
        return "no difference shown"
    low, high = speedup.interval
    if low > 1 + noise:
        return "better"
    return "worse" if high < 1 / (1 + noise) else "no difference shown"


def noise_of(twice: Ratio) -> float:
    """The largest difference between two series of the same thing, as a share; unknown counts as none."""
    low, high = twice.interval or (1.0, 1.0)
    return max(high, 1 / low) - 1


def _resampled_medians(samples: Sequence[float], draws: int, source: random.Random) -> list[float]:
    ordered = sorted(samples)
    count = len(ordered)
    middle = (draws + 1) // 2  # the lower one of an even number
    medians = []
    for _ in range(RESAMPLES):
        lower = source.betavariate(middle, draws - middle + 1)
        low = ordered[int(lower * count)]
        if draws % 2:
            medians.append(low)
            continue
        # The next larger of the uniform numbers, given this one: the smallest of those that are above it.
        upper = lower + (1 - lower) * source.betavariate(1, draws - middle)
        medians.append((low + ordered[min(int(upper * count), count - 1)]) / 2)
    return medians


def _middle(values: Sequence[float], confidence: float) -> Interval:
    tail = (1 - confidence) / 2
    ordered = sorted(values)
    return quantile(ordered, tail), quantile(ordered, 1 - tail)
