"""Which slices of a track can be drawn on one line: those that lie inside or behind one another. Others overlap, and
need a further lane."""

from __future__ import annotations

from bisect import bisect_right, insort
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Times: TypeAlias = NDArray[np.int64]


def lanes_of(slices: pl.DataFrame) -> pl.Series:
    """The lane of each slice (columns track, start_ns, end_ns), 0 where none overlap. Slices are in the order of their
    tracks, starts and, of those that start together, the longest first."""
    lanes = np.zeros(slices.height, np.int64)
    starts, ends = slices["start_ns"].to_numpy(), slices["end_ns"].to_numpy()
    for first, behind in _tracks_with_several(slices["track"].to_numpy()):
        of_track = slice(first, behind)
        if not _is_nested(starts[of_track], ends[of_track]):
            lanes[of_track] = _lanes(starts[of_track].tolist(), ends[of_track].tolist())
    return pl.Series("lane", lanes)


def _tracks_with_several(track: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """The first slice of each track and the first behind it."""
    bounds = [0, *(np.flatnonzero(np.diff(track)) + 1).tolist(), len(track)]
    return [(first, behind) for first, behind in pairwise(bounds) if behind - first > 1]


def _is_nested(starts: Times, ends: Times) -> bool:
    """Whether no two slices overlap without one lying in the other: then each ends at the depth at which it began.
    What begins and ends at once has no depth."""
    long = ends > starts
    starts, ends = starts[long], ends[long]
    order = np.arange(len(starts))
    closing = np.lexsort((-order, ends))
    place = np.empty_like(order)
    place[closing] = order
    depth_at_start = order - np.searchsorted(ends[closing], starts, "right")
    depth_at_end = np.searchsorted(starts, ends, "left") - 1 - place
    return bool((depth_at_start == depth_at_end).all())


def _lanes(starts: list[int], ends: list[int]) -> list[int]:
    """A lane for each slice: inside the slice that ends soonest after it, else the first that is free."""
    open_ends: list[list[int]] = []  # of each lane, the innermost last
    innermost: list[tuple[float, int]] = []  # (-end, lane) of lanes in use: the one that ends next is last
    free: list[int] = []
    chosen = []
    for start, end in zip(starts, ends, strict=True):
        while innermost and -innermost[-1][0] <= start:
            _, lane = innermost.pop()
            open_ends[lane].pop()
            if open_ends[lane]:
                insort(innermost, (-open_ends[lane][-1], lane))
            else:
                heappush(free, lane)
        around = bisect_right(innermost, (-end, inf)) - 1
        if around >= 0:
            lane = innermost[around][1]
            innermost[around] = (-end, lane)
        else:
            if not free:
                open_ends.append([])
            lane = heappop(free) if free else len(open_ends) - 1
            insort(innermost, (-end, lane))
        open_ends[lane].append(end)
        chosen.append(lane)
    return chosen
