"""A straight line through points of which some are far off: weighted least absolute deviations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ROUNDS = 30
_SMALL_NS = 1000.0  # smaller deviations count by their squares, as with Huber
_FEWEST_FOR_SLOPE = 10
_TOLERANCE_NS = 0.1


class Line(NamedTuple):
    """`at_zero` + `slope` * x."""

    at_zero: float
    slope: float

    def at(self, x: Floats) -> Floats:
        """The line at some places."""
        return self.at_zero + self.slope * x


def fitted_line(x: Floats, y: Floats, weights: Floats) -> Line:
    """The line with the least sum of weighted absolute deviations; level where the points are too few for a slope.
    Found by least squares that are weighted anew in each round (Schlossmacher 1973)."""
    level = weighted_median(y, weights)
    if len(x) < _FEWEST_FOR_SLOPE or not np.ptp(x):
        return Line(level, 0.0)
    centre, scale = float(x.mean()), float(np.ptp(x))
    places = (x - centre) / scale
    at_centre, rise = level, 0.0
    for _ in range(_ROUNDS):
        far = np.abs(y - at_centre - rise * places)
        before = at_centre, rise
        at_centre, rise = _least_squares(places, y, weights / np.maximum(far, _SMALL_NS))
        if max(abs(at_centre - before[0]), abs(rise - before[1])) < _TOLERANCE_NS:
            break
    return Line(at_centre - rise / scale * centre, rise / scale)


def _least_squares(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    total = weights.sum()
    mean_x, mean_y = (weights @ x) / total, (weights @ y) / total
    spread = weights @ (x - mean_x) ** 2
    slope = (weights @ ((x - mean_x) * (y - mean_y))) / spread if spread else 0.0
    return float(mean_y - slope * mean_x), float(slope)


def weighted_median(values: Floats, weights: Floats) -> float:
    """The value with half of the weight on either side."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2)]])
