"""Where a series of measurements changes its level for good, found on ranks: neither an outlier nor the unit nor the
shape of the noise matters, and nothing has to be estimated first.

The levels are the ones that leave the least scatter, where each further level has to pay for itself (optimal
partitioning: Jackson et al. 2005; on ranks: Lung-Yut-Fong, Levy-Leduc and Cappe 2011). What a level costs was
simulated: tests count how often a series without a step is given one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from rocm_perf.statistics.series import median

_BASE, _PER_LOG = 4.7, 1.6  # the cost of a level in variances of the ranks, for at most 1 % false alarms


def step_places(values: Sequence[float]) -> list[int]:
    """The places of the first value of each new level, in their order. Each part is looked at again by its own ranks,
    because a large step hides the smaller ones beside it."""
    places = _placed(values, _partition(_standardised_ranks(values)))
    if not places:
        return []
    parts = list(pairwise([0, *places, len(values)]))
    return sorted(
        {*places, *(start + place for start, end in parts for place in step_places(values[start:end]))}
    )


def levels(values: Sequence[float]) -> list[tuple[int, int]]:
    """The parts of the series between its steps, each as the places of its first value and of the one behind it."""
    return list(pairwise([0, *step_places(values), len(values)])) if values else []


def level_cost(count: int) -> float:
    """What one more level of a series of this length must save."""
    return _BASE + _PER_LOG * math.log(max(count, 1))


def _standardised_ranks(values: Sequence[float]) -> list[float]:
    """The ranks with mean 0 and variance 1; equal values share their mean rank. All 0 if all values are equal."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered)))}
    last = {value: place for place, value in enumerate(ordered)}
    ranks = [(first[value] + last[value]) / 2 for value in values]
    centre = (len(ranks) - 1) / 2
    spread = math.sqrt(sum((rank - centre) ** 2 for rank in ranks) / max(len(ranks), 1))
    return [(rank - centre) / spread if spread else 0.0 for rank in ranks]


def _partition(ranks: Sequence[float]) -> list[int]:
    """The places at which to cut so that the squared distances from each part's mean, plus the cost of the cuts, are
    least."""
    sums = [0.0, *accumulate(ranks)]
    cost = level_cost(len(ranks))
    best, previous = (
        [0.0],
        [0],
    )  # of the first n values: what their best levels save, and where the last one begins
    for end in range(1, len(ranks) + 1):
        savings = [
            best[start] + (sums[end] - sums[start]) ** 2 / (end - start) - (cost if start else 0.0)
            for start in range(end)
        ]
        start = max(range(end), key=savings.__getitem__)
        best.append(savings[start])
        previous.append(start)
    return _cuts(previous)


def _placed(values: Sequence[float], places: Sequence[int]) -> list[int]:
    """The places, each moved to where its step is sharpest. Ranks say that there is one; a value tells better than a
    rank on which side of it a run lies."""
    bounds = [0, *places, len(values)]
    return [
        start + _sharpest(values[start:end], place - start)
        for start, place, end in zip(bounds, places, bounds[2:], strict=False)
    ]


def _sharpest(values: Sequence[float], place: int) -> int:
    """The cut that leaves the values nearest to the medians of both sides, as a first cut gives them."""
    before, after = median(values[:place]), median(values[place:])
    gains = [abs(value - after) - abs(value - before) for value in values[:-1]]  # of being before the cut
    sums = list(accumulate(gains))
    return max(range(len(sums)), key=sums.__getitem__) + 1


def _cuts(previous: Sequence[int]) -> list[int]:
    cuts, place = [], len(previous) - 1
    while place and (place := previous[place]):
        cuts.append(place)
    return cuts[::-1]
