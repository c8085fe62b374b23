"""The ceilings of a GPU as lines of a roofline: rates of dtypes lie flat, bandwidths of memory levels rise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.roofline import Ceiling, RooflineGpu
from rocm_perf.render import svg
from rocm_perf.render.figures.labels import Room
from rocm_perf.render.figures.lettering import fitted, text_width
from rocm_perf.render.figures.scales import Log

_SIZE = 11
_STEP = 4  # units between the boxes that keep a line free
_BESIDE = 4  # units between a line and its label


@dataclass(frozen=True)
class Plot:
    """The axes: FLOP/B to the right, TFLOP/s upwards."""

    x: Log
    y: Log

    def at(self, intensity: float, rate: float) -> svg.Point:
        """Where a kernel of this intensity and rate lies."""
        return self.x(intensity), self.y(rate)

    @property
    def box(self) -> svg.Box:
        return svg.Box(self.x.start, self.y.end, self.x.end - self.x.start, self.y.start - self.y.end)

    @property
    def angle(self) -> float:
        """How steeply a bandwidth rises, in degrees."""
        right = (self.x.end - self.x.start) / math.log(self.x.high / self.x.low)
        up = (self.y.start - self.y.end) / math.log(self.y.high / self.y.low)
        return math.degrees(math.atan2(up, right))


@dataclass(frozen=True)
class Roof:
    """Ceilings of one rate. `sheet` is the rate of the data sheet where `rate` was measured."""

    names: tuple[str, ...]
    kind: str
    rate: float
    unit: str
    origin: str
    is_used: bool  # by a kernel of the figure
    measured: bool
    sheet: float | None

    @property
    def label(self) -> str:
        """Names and rate, and that it was measured where the data sheet says something else."""
        return f"{self.short_label} {self.unit}" + (" measured" if self.measured else "")

    @property
    def short_label(self) -> str:
        """Names and rate; the unit is that of the axis."""
        return f"{', '.join(self.names)}: {self.rate:,.4g}"


def roofs(gpu: RooflineGpu, used: frozenset[str]) -> list[Roof]:
    """The ceilings, those of one kind and one rate as one; the used ones first, then the fastest."""
    alike: dict[tuple[str, float, bool, float | None], list[Ceiling]] = {}
    for ceiling in gpu.ceilings:
        if ceiling.rate.value:
            key = (ceiling.kind, ceiling.rate.value, ceiling.measured, _sheet(ceiling.data_sheet))
            alike.setdefault(key, []).append(ceiling)
    found = [
        Roof(
            names=_joined([ceiling.name for ceiling in ceilings]),
            kind=kind,
            rate=rate,
            unit=", ".join(dict.fromkeys(ceiling.rate.unit for ceiling in ceilings)),
            origin=ceilings[0].origin,
            is_used=any(ceiling.name in used for ceiling in ceilings),
            measured=measured,
            sheet=sheet,
        )
        for (kind, rate, measured, sheet), ceilings in alike.items()
    ]
    return sorted(found, key=lambda roof: (not roof.is_used, -roof.rate))


def device_memory(lines: Sequence[Roof]) -> Roof | None:
    """The slowest level: what kernels have to move comes from there."""
    return min((roof for roof in lines if roof.kind == "memory"), key=lambda roof: roof.rate, default=None)


def drawn_roofs(lines: Sequence[Roof], plot: Plot, room: Room) -> Iterator[str]:
    """All lines, then the labels that find room; what comes later crosses a line only where it must."""
    slowest = device_memory(lines)
    highest = max((roof.rate for roof in lines if roof.kind == "compute"), default=plot.y.high)
    labels: list[str] = []
    for roof in lines:
        look = "roof" if roof.is_used or roof is slowest else "roof-other"
        ends = _ends(roof, roof.rate, plot, (slowest, highest))
        sheet = None if roof.sheet is None else _ends(roof, roof.sheet, plot, (slowest, highest))
        if ends:
            yield svg.mark(f"{roof.label}\n{roof.origin}", svg.line(*ends, look))
            room.avoided.extend(_along(*ends))
        if sheet:
            about = f"{', '.join(roof.names)}: {roof.sheet:,.4g} {roof.unit} by the data sheet"
            yield svg.mark(about, svg.line(*sheet, f"{look} dashed"))
        labels += _label(roof, plot, room, highest)
    yield from labels


def _ends(
    roof: Roof, rate: float, plot: Plot, limits: tuple[Roof | None, float]
) -> tuple[svg.Point, svg.Point] | None:
    """From the ridge to the right, or from the left edge up to the highest rate; None where that is not in the plot."""
    slowest, highest = limits
    if roof.kind == "compute":
        ridge = rate / slowest.rate if slowest else plot.x.low
        seen = ridge < plot.x.high and plot.y.low < rate < plot.y.high
        return (plot.at(ridge, rate), (plot.x.end, plot.y(rate))) if seen else None
    first = max(plot.x.low, plot.y.low / rate)
    last = min(plot.x.high, highest / rate)
    return (plot.at(first, first * rate), plot.at(last, last * rate)) if first < last else None


def _along(start: svg.Point, end: svg.Point) -> Iterator[svg.Box]:
    """Small boxes on a line."""
    count = max(int(math.dist(start, end) / _STEP), 1)
    for place in range(count + 1):
        x, y = (one + place / count * (other - one) for one, other in zip(start, end, strict=True))
        yield svg.Box(x - _STEP / 2, y - 1, _STEP, 2)


def _label(roof: Roof, plot: Plot, room: Room, highest: float) -> Iterator[str]:
    if roof.kind == "memory":
        yield from _rising_label(roof, plot, room, highest)
        return
    most = plot.box.width * 0.5
    shortest = roof.label if text_width(roof.label, _SIZE) <= most else roof.short_label
    label = fitted(shortest, most, _SIZE)
    width = text_width(label, _SIZE)
    y = plot.y(roof.rate)
    places = (svg.Box(plot.x.end - width, top, width, _SIZE + 3) for top in (y - _SIZE - 4, y + 2))
    box = room.first_free(places) if plot.y.end <= y else None
    if box is not None:
        place = (plot.x.end, box.top + _SIZE)
        yield svg.text(place, label, _look(roof), size=_SIZE, anchor="end")


def _rising_label(roof: Roof, plot: Plot, room: Room, highest: float) -> Iterator[str]:
    """Above the line and as steep, as near to its upper end as there is room."""
    label = roof.label
    length = text_width(label, _SIZE)
    first, last = plot.at(max(plot.x.low, plot.y.low / roof.rate), 1)[0], plot.x(highest / roof.rate)
    turn = math.radians(plot.angle)
    for part in (0.08, 0.3, 0.5):
        x = first + part * (last - first)
        y = plot.y(plot.x.low * (plot.x.high / plot.x.low) ** _part(x, plot) * roof.rate)
        start = (x - _BESIDE * math.sin(turn), y - _BESIDE * math.cos(turn))
        chain = _chain(start, length, turn)
        if all(room.has(box) for box in chain):
            room.take(chain)
            yield svg.turned(svg.text(start, label, _look(roof), size=_SIZE), start, -plot.angle)
            return


def _look(roof: Roof) -> str:
    return "halo" if roof.is_used else "soft halo"


def _part(x: float, plot: Plot) -> float:
    return (x - plot.x.start) / (plot.x.end - plot.x.start)


def _chain(start: svg.Point, length: float, turn: float) -> list[svg.Box]:
    """Small boxes along a turned line of text."""
    count = max(int(length / _SIZE), 1)
    return [
        svg.Box(
            start[0] + place * _SIZE * math.cos(turn) - _SIZE / 2,
            start[1] - place * _SIZE * math.sin(turn) - _SIZE,
            _SIZE,
            _SIZE,
        )
        for place in range(count + 1)
    ]


def _sheet(rate: Quantity | None) -> float | None:
    return None if rate is None or rate.value is None else float(rate.value)


def _joined(names: Sequence[str]) -> tuple[str, ...]:
    """Names with their unit once: "f16 matrix", "bf16 matrix" are "f16", "bf16 matrix"."""
    units = [name.partition(" ")[2] for name in names]
    return tuple(
        name.partition(" ")[0] if unit and place + 1 < len(names) and units[place + 1] == unit else name
        for place, (name, unit) in enumerate(zip(names, units, strict=True))
    )
