"""Readings merged into intervals that keep the lowest, the mean and the highest value of every metric. Standard library
only.

An interval runs from one reading to a later one, with power as a straight line between two readings: its mean times its
length is the integral that the readings themselves would give. Intervals can be merged any number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rocm_perf.backends.sensors import Reading


class Extent(NamedTuple):
    """What a metric did during an interval."""

    lowest: float
    mean: float  # over time
    highest: float


@dataclass(frozen=True)
class Interval:
    """One GPU from one reading to a later one."""

    index: int
    start_ns: int
    end_ns: int
    readings: int  # without the one at its end, which counts for what follows
    extents: dict[str, Extent]


def between(earlier: Reading, later: Reading) -> Interval:
    """The interval from a reading to the next. Where only one of them has a metric, that value stands for both."""
    extents = {}
    for metric in earlier.values | later.values:
        known = [reading.values[metric] for reading in (earlier, later) if metric in reading.values]
        extents[metric] = Extent(min(known), known[0] + (known[-1] - known[0]) / 2, max(known))
    return Interval(
        index=earlier.index, start_ns=earlier.time_ns, end_ns=later.time_ns, readings=1, extents=extents
    )


def merged(first: Interval, second: Interval) -> Interval:
    """Two neighbours as one interval."""
    length = second.end_ns - first.start_ns
    share = (second.end_ns - second.start_ns) / length if length else 0.5
    both = {
        metric: _merged(first.extents[metric], second.extents[metric], share)
        for metric in first.extents.keys() & second.extents.keys()
    }
    return Interval(
        index=first.index,
        start_ns=first.start_ns,
        end_ns=second.end_ns,
        readings=first.readings + second.readings,
        extents=first.extents | second.extents | both,
    )


def _merged(first: Extent, second: Extent, share: float) -> Extent:
    return Extent(
        lowest=min(first.lowest, second.lowest),
        mean=first.mean + (second.mean - first.mean) * share,
        highest=max(first.highest, second.highest),
    )


@dataclass(frozen=True)
class Grid:
    """What is thinned, and how far: everything before `until_ns`, to one interval in every `length_ns`."""

    length_ns: int
    until_ns: int


def grid(first_ns: int, last_ns: int, *, interval_ns: int, most_rows: int) -> Grid:
    """How to thin a GPU's readings to half of the rows that a file may have: a quarter of them for intervals, whose
    length is the sampling interval doubled as often as that takes, and a quarter for the latest readings, untouched."""
    quarter = max(1, most_rows // 4)
    until_ns = last_ns - quarter * interval_ns
    length_ns = interval_ns
    while length_ns * quarter < until_ns - first_ns:
        length_ns *= 2
    return Grid(length_ns, until_ns)


class Thinner:
    """Turns rows of a file, in their order, into fewer. Intervals that are there already are merged further, because
    every slot of a doubled grid is two of the one before."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._open: dict[int, Interval] = {}
        self._last: dict[int, Reading] = {}

    def add(self, row: Reading | Interval) -> Iterator[Reading | Interval]:
        """Take the next row, and yield those that are complete."""
        if isinstance(row, Interval):
            yield from self._extend(row)
            return
        earlier = self._last.pop(row.index, None)
        if earlier is not None:
            yield from self._extend(between(earlier, row))
        if row.time_ns < self._grid.until_ns:
            self._last[row.index] = row
            return
        if row.index in self._open:
            yield self._open.pop(row.index)
        yield row

    def rest(self) -> Iterator[Reading | Interval]:
        """Yield what is still open at the end."""
        yield from self._open.values()
        yield from self._last.values()

    def _extend(self, interval: Interval) -> Iterator[Interval]:
        current = self._open.get(interval.index)
        if current is not None and self._slot(current) == self._slot(interval):
            self._open[interval.index] = merged(current, interval)
            return
        self._open[interval.index] = interval
        if current is not None:
            yield current

    def _slot(self, interval: Interval) -> int:
        return interval.start_ns // self._grid.length_ns
