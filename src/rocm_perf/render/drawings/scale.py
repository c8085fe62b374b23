"""A logarithmic axis, divided into cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rocm_perf.render.figures.scales import decades


@dataclass(frozen=True)
class LogScale:
    """An axis over so many cells, between two values given as powers of ten."""

    first: float  # exponents
    last: float
    cells: int

    def place(self, value: float) -> float:
        """How many cells from the start the value lies."""
        return (math.log10(value) - self.first) / (self.last - self.first) * self.cells

    def cell(self, value: float) -> int:
        """The cell that the value lies in; one beyond the axis lies in the outermost."""
        return min(max(math.floor(self.place(value)), 0), self.cells - 1)

    def value(self, place: float) -> float:
        """The value that lies so many cells from the start."""
        return float(10 ** (self.first + place / self.cells * (self.last - self.first)))

    def decades(self) -> Iterator[tuple[int, str]]:
        """The cell and the label of each power of ten on the axis."""
        for value in decades(self.value(0), self.value(self.cells)):
            yield self.cell(value), _label(value)


def spanning(values: Iterable[float], cells: int, *, spare: int = 0) -> LogScale:
    """The axis from the least to the greatest of the values, all above zero, at least a decade; with spare cells
    beyond the greatest."""
    exponents = [math.log10(value) for value in values]
    first = min(exponents)
    length = max(max(exponents) - first, 1.0)
    return LogScale(first, first + length * cells / (cells - spare), cells)


def _label(value: float) -> str:
    return f"{value:g}" if 0.01 <= value <= 10_000 else f"1e{math.log10(value):.0f}"
