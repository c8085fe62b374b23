"""Whether one of several comes later than the others more often than chance would have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

_COUNTED = (
    50  # rounds up to which all outcomes are counted; the sum of more places is normal to within the level
)


def chance_of_places(total: float, sizes: Sequence[int]) -> float:
    """How likely the places of one among equals sum to `total` or more, in rounds of so many each.

    In a round of n equals each place from 1 to n is as likely: its mean is (n + 1) / 2 and its variance (n^2 - 1) / 12
    (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 7.1: Friedman's ranks within blocks).
    """
    if len(sizes) <= _COUNTED:
        return sum(_likelihoods(sizes)[max(math.floor(total) - len(sizes), 0) :])
    mean, variance = sum(size + 1 for size in sizes) / 2, sum(size**2 - 1 for size in sizes) / 12
    if not variance:
        return 1.0
    return 0.5 * math.erfc(
        (total - 0.5 - mean) / math.sqrt(2 * variance)
    )  # places are whole: half of one off


def chance_of_lasts(count: int, sizes: Sequence[int]) -> float:
    """How likely one among equals is the last in `count` rounds or more, of so many each: at most that of a binomial
    distribution in which all rounds are as small as the smallest."""
    if not sizes or count <= 0:
        return 1.0
    share, rounds = 1 / min(sizes), len(sizes)
    if share == 1:
        return 1.0
    return min(sum(_binomial(times, rounds, share) for times in range(count, rounds + 1)), 1.0)


def _binomial(times: int, rounds: int, share: float) -> float:
    """How likely something of this share happens so many times in so many rounds."""
    ways = math.lgamma(rounds + 1) - math.lgamma(times + 1) - math.lgamma(rounds - times + 1)
    return math.exp(ways + times * math.log(share) + (rounds - times) * math.log1p(-share))


def _likelihoods(sizes: Sequence[int]) -> list[float]:
    """How likely each sum of places is, from the least on, which is one for each round."""
    sums = [1.0]
    for size in sizes:
        reached = list(accumulate(sums, initial=0.0))
        last = len(reached) - 1
        sums = [
            (reached[min(place + 1, last)] - reached[max(place + 1 - size, 0)]) / size
            for place in range(len(sums) + size - 1)
        ]
    return sums
