"""Student's t: the quantiles that intervals from a handful of processes need."""

from __future__ import annotations

import math
import sys
from functools import lru_cache

_LARGEST = math.log(sys.float_info.max)
_MOST = 1e6  # above every quantile that a level up to 99.99 % asks for


def exponential(logarithm: float) -> float:
    """The number that has this logarithm, or the largest there is: an interval from two processes can be that wide."""
    return math.exp(min(logarithm, _LARGEST))


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: int) -> float:
    """The t that the middle `level` of the distribution stays below in size, by bisection."""
    low, high = 0.0, _MOST
    while high - low > 1e-9 * (1 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if _share_within(middle, freedom) < level else (low, middle)
    return high


def _share_within(t: float, freedom: int) -> float:
    """P(|T| < t) for whole degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, squared = math.sin(angle), math.cos(angle) ** 2
    if freedom % 2 == 0:
        return sine * _series(squared, range(1, freedom - 2, 2))
    if freedom == 1:
        return 2 * angle / math.pi
    return 2 / math.pi * (angle + sine * math.cos(angle) * _series(squared, range(2, freedom - 2, 2)))


def _series(squared: float, factors: range) -> float:
    """1 + f/(f+1) c + f/(f+1) (f+2)/(f+3) c^2 + ... over the factors f."""
    term = total = 1.0
    for factor in factors:
        term *= factor / (factor + 1) * squared
        total += term
    return total
