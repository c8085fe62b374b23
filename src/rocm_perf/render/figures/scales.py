"""Where a value lies along an axis, and at which values an axis has ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

_ROUND = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Linear:
    """From `low` at `start` to `high` at `end`, in equal steps."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where it lies; what is beyond an end lies at that end."""
        return self.start + _bounded((value - self.low) / (self.high - self.low)) * (self.end - self.start)


@dataclass(frozen=True)
class Log:
    """From `low` at `start` to `high` at `end`, both above 0, with equal room for equal factors."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where it lies; what is beyond an end lies at that end."""
        if value <= self.low:
            return self.start
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + _bounded(part) * (self.end - self.start)


def decades(low: float, high: float) -> list[float]:
    """The powers of ten from `low` to `high`."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round values between `low` and `high`, at most this many and evenly spaced."""
    if high <= low:
        return [low]
    step = _round_step((high - low) / max(most - 1, 1))
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below this."""
    magnitude = 10.0 ** math.floor(math.log10(least))
    return next(factor * magnitude for factor in _ROUND if factor * magnitude >= least * (1 - 1e-9))


def _bounded(part: float) -> float:
    return min(max(part, 0.0), 1.0)
