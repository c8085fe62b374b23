"""Offset and drift of many clocks from the ends of the collectives that they share.

All clocks are fitted to the median end of each collective, which follows from all clocks: a few rounds suffice. A kind
of collective counts only where its ends agree with those of the shortest ones. Ranks behind a slow link end long
transfers later than the others, every time, and that must not pass for an offset.
"""

from __future__ import annotations

import warnings

import msgspec
import numpy as np
import numpy.typing as npt

from rocm_perf.ingest.ranks.ends import Ends
from rocm_perf.ingest.ranks.fitting import Floats, Line, fitted_line

WITHIN = 0.95  # of all ends
FEWEST = 5  # collectives that a clock must share with the others
_ROUNDS = 4
_SIGMAS = 3.0
_SIGMA_OF_MAD = 1.4826  # of a normal distribution
_SIGMA_OF_MEDIAN = 1.2533  # of its median, against that of its mean
_AS_EXACT = 3.0  # times the spread of the shortest
_LEAST_SPREAD_NS = 200.0  # no kind counts as more exact than this
_LEVEL = Line(0.0, 0.0)


class Fit(msgspec.Struct, frozen=True):
    """What is added to the times of a node, and which collectives say so."""

    line: Line
    used: npt.NDArray[np.bool_]


class Solution(msgspec.Struct, frozen=True):
    """The fits of all nodes that can be reached from the reference, whose clock is the common one; and the median end
    of each collective on it. Nodes are rows of `Ends`."""

    reference: int
    fits: dict[int, Fit]
    common: Floats

    def error_ns(self, ends: Ends, node: int) -> float:
        """What the ends of a node still differ by from the median: 95 % of them by less."""
        fit = self.fits[node]
        own = ends.ends[node][fit.used]
        off = np.abs(own + fit.line.at(own) - self.common[fit.used])
        return float(np.quantile(off, WITHIN)) if len(off) else 0.0


def solve(ends: Ends, first: int) -> Solution:
    """The clocks that follow from the ends, of all nodes that can be reached from the first, on its clock."""
    fits = _reached(ends, first)
    for _ in range(_ROUNDS):
        common = _common(ends, fits)
        fits = {node: _fit(ends, node, common) for node in fits}
    return seen_from(first, ends, fits)


def seen_from(reference: int, ends: Ends, fits: dict[int, Fit]) -> Solution:
    """The same fits on the clock of a node."""
    own = fits[reference].line
    placed = {node: Fit(_seen_from(own, fit.line), fit.used) for node, fit in fits.items()}
    return Solution(reference, placed, _common(ends, placed))


def _reached(ends: Ends, reference: int) -> dict[int, Fit]:
    """First fits, from the reference on: each node that shares enough collectives with those fitted before it."""
    fits = {reference: Fit(_LEVEL, ~np.isnan(ends.ends[reference]))}
    while True:
        common = _common(ends, fits)
        shared = (~np.isnan(ends.ends) & ~np.isnan(common)).sum(axis=1)
        near = [node for node in range(len(ends.nodes)) if node not in fits and shared[node] >= FEWEST]
        if not near:
            return fits
        fits |= {node: _fit(ends, node, common) for node in near}


def _common(ends: Ends, fits: dict[int, Fit]) -> Floats:
    """The median end of each collective over all nodes that are fitted; NaN where none of them took part."""
    rows = np.array([ends.ends[node] + fit.line.at(ends.ends[node]) for node, fit in fits.items()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns of NaN alone
        return np.asarray(np.nanmedian(rows, axis=0))


def _fit(ends: Ends, node: int, common: Floats) -> Fit:
    own = ends.ends[node]
    shared = ~np.isnan(own) & ~np.isnan(common)
    shortest = ends.shortest(shared)
    apart = common - own
    first = fitted_line(own[shortest], apart[shortest], np.ones(shortest.sum()))
    off = apart - first.at(own)
    weights = np.zeros(len(own))
    for kind in np.unique(ends.kinds[shared]):
        members = shared & (ends.kinds == kind)
        if shortest[members].all() or _agrees(off[members], off[shortest]):
            weights[members] = 1 / _spread(off[members])
    used = weights > 0
    return Fit(fitted_line(own[used], apart[used], weights[used]), used)


def _agrees(off: Floats, shortest: Floats) -> bool:
    """Whether a kind is as exact as the shortest ones, and off by no more than chance explains."""
    spread, least = _spread(off), _spread(shortest)
    chance = _SIGMA_OF_MEDIAN * float(np.hypot(spread / np.sqrt(len(off)), least / np.sqrt(len(shortest))))
    return spread <= _AS_EXACT * least and abs(float(np.median(off))) <= _SIGMAS * chance


def _spread(values: Floats) -> float:
    """The standard deviation of normally distributed values, some of which are far off."""
    return max(_LEAST_SPREAD_NS, _SIGMA_OF_MAD * float(np.median(np.abs(values - np.median(values)))))


def _seen_from(own: Line, line: Line) -> Line:
    """A line to the median clock as one to the clock that `own` leads from."""
    return Line((line.at_zero - own.at_zero) / (1 + own.slope), (line.slope - own.slope) / (1 + own.slope))
