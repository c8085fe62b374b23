"""Places in sorted values that bound a median, or a shift between two groups, whatever the distribution is.

An interval from the value at place k (counted from 0) to the one at place k from the end misses with a probability
that follows from counting alone: the sign test for a median, Mann and Whitney's test for a shift (Hollander, Wolfe and
Chicken, Nonparametric Statistical Methods, 3.6 and 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate


@lru_cache(maxsize=256)
def median_place(count: int, level: float) -> int | None:
    """The place k for which [k-th smallest, k-th largest] of `count` values holds the median at this level; None if
    even the smallest and the largest do not."""
    ways = (math.comb(count, below) for below in range(count // 2 + 1))
    return _last_within(ways, 2**count, level)


@lru_cache(maxsize=256)
def shift_place(first: int, second: int, level: float) -> int | None:
    """The place k among all first x second pairwise differences for which they hold the shift at this level; None if
    there are too few."""
    return _last_within(_pairings(first, second), math.comb(first + second, first), level)


def _last_within(ways: Iterable[int], total: int, level: float) -> int | None:
    """The last place up to which the ways to miss on one side stay within half of what the level leaves."""
    most = (1 - level) / 2 * total * (1 + 1e-12)
    place = -1
    for reached in accumulate(ways):
        if reached > most:
            break
        place += 1
    return place if place >= 0 else None


def _pairings(first: int, second: int) -> list[int]:
    """In how many orders of both groups exactly u pairs are inverted, for u up to half of all pairs: the coefficients
    of the Gaussian binomial, the product over i of (1 - q^(second + i)) / (1 - q^i)."""
    length = first * second // 2 + 1
    counts = [1] + [0] * (length - 1)
    for i in range(1, first + 1):
        for u in range(length - 1, second + i - 1, -1):
            counts[u] -= counts[u - second - i]
        for u in range(i, length):
            counts[u] += counts[u - i]
    return counts
