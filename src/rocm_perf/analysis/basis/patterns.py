"""What a long sequence repeats: a loop of the program shows as the same links, over and over."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from rocm_perf.model.results.path import Link, Pattern

Codes = npt.NDArray[np.unsignedinteger]

_CANDIDATES = 8
_LONGEST_PERIOD = 1000


def repeated(links: pl.DataFrame) -> Pattern | None:
    """The shortest run of links whose repetition covers the most; None where nothing comes twice in a row."""
    codes = _codes(links)
    stretches = [_stretch(codes, period) for period in _periods(codes)]
    best = max(stretches, key=lambda one: (one[1] * one[2], -one[2]), default=None)
    if best is None or best[1] < 2:
        return None
    start, repeats, period = best
    first = tuple(Link(*row) for row in links.slice(start, period).iter_rows())
    return Pattern(first, repeats, int(links["duration_ns"].slice(start, repeats * period).sum()))


def _codes(links: pl.DataFrame) -> Codes:
    """A number for the kind and name of each link, of a type as small as will do: 16 bits are sorted by counting."""
    kinds, names = (links[column].to_physical().to_numpy().astype(np.uint64) for column in ("kind", "name"))
    wide = kinds * (names.max(initial=0) + 1) + names
    codes: Codes = wide.astype(np.min_scalar_type(wide.max(initial=0)))
    return codes


def _periods(codes: Codes) -> list[int]:
    """The most frequent distances between one link and the next like it; of equals, the first that is seen."""
    order = np.argsort(codes, kind="stable")
    like_the_one_before = codes[order[1:]] == codes[order[:-1]]
    distance = np.zeros(codes.size, dtype=np.int64)
    distance[order[1:]] = np.where(like_the_one_before, np.diff(order), 0)
    near = distance[(distance > 0) & (distance <= _LONGEST_PERIOD)]
    counts = np.bincount(near)
    seen = np.zeros_like(counts)
    seen[near[::-1]] = np.arange(near.size)[::-1]
    most_first = np.lexsort((seen, -counts))[:_CANDIDATES]
    nearest = [int(period) for period in most_first if counts[period]]
    total = {sum(nearest[:count]) for count in range(1, len(nearest) + 1)}  # two like it in one loop
    return sorted({*nearest, *(period for period in total if period <= _LONGEST_PERIOD)})


def _stretch(codes: Codes, period: int) -> tuple[int, int, int]:
    """Where the longest repetition with this period starts, the last of several, how often it comes, and the period."""
    same = np.concatenate([[False], codes[period:] == codes[:-period], [False]])
    begins, ends = np.flatnonzero(same[1:] != same[:-1]).reshape(-1, 2).T
    if not begins.size:
        return 0, 0, period
    longest = begins.size - 1 - int(np.argmax((ends - begins)[::-1]))
    return int(begins[longest]), 1 + int(ends[longest] - begins[longest]) // period, period
