"""Axes with round ticks, and the units that large numbers are written in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocm_perf.render import svg
from rocm_perf.render.figures.lettering import text_width
from rocm_perf.render.figures.scales import Linear, round_ticks
from rocm_perf.units import NS_PER_MS, NS_PER_S, NS_PER_US

TICK = 11  # size of the letters
_TIMES = ((NS_PER_S, "s"), (NS_PER_MS, "ms"), (NS_PER_US, "us"), (1, "ns"))
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


@dataclass(frozen=True)
class Unit:
    """What a number is divided by, and what stands behind it."""

    factor: float
    name: str

    def written(self, value: float) -> str:
        """The value in this unit."""
        return f"{value / self.factor:,.10g} {self.name}".rstrip()


def time_unit(length_ns: float) -> Unit:
    """The unit in which an axis of this length has small numbers."""
    return _largest(_TIMES, length_ns)


def size_unit(most_bytes: float) -> Unit:
    """The unit in which an axis up to this size has small numbers."""
    return _largest(_SIZES, most_bytes)


def ticks(at: Linear, unit: Unit, most: int) -> list[float]:
    """Values that are round in their unit."""
    return [tick * unit.factor for tick in round_ticks(at.low / unit.factor, at.high / unit.factor, most)]


def time_axis(at: Linear, y: float) -> Iterator[str]:
    """Ticks of time below a line at this height, and none whose label would leave the axis."""
    unit = time_unit(at.high - at.low)
    for tick in ticks(at, unit, most=6):
        x, label = at(tick), unit.written(tick)
        is_first = x == at.start
        half = 0 if is_first else text_width(label, TICK) / 2
        if at.start <= x - half and x + text_width(label, TICK) - half <= at.end + 1:
            yield svg.line((x, y), (x, y + 5), "axis")
            yield svg.text((x, y + 18), label, "soft", size=TICK, anchor="start" if is_first else "middle")


def _largest(steps: tuple[tuple[int, str], ...], value: float) -> Unit:
    factor, name = next((step for step in steps if value >= step[0]), steps[-1])
    return Unit(factor, name)
