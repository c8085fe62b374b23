"""Values over time as lines: one diagram below the other on one axis of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocm_perf.render import svg
from rocm_perf.render.figures.axes import TICK, Unit, ticks, time_axis
from rocm_perf.render.figures.figure import Figure
from rocm_perf.render.figures.lettering import fitted, text_width
from rocm_perf.render.figures.parts import SIZE, Part, legend
from rocm_perf.render.figures.scales import Linear

_PLOT, _HEADING, _BETWEEN, _AXIS = 96, 24, 14, 40


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line, and the range around it where several readings became one. A `held` value stays until the next."""

    name: str
    about: str
    at_ns: Sequence[float]
    values: Sequence[float]
    lowest: Sequence[float] = ()
    highest: Sequence[float] = ()
    held: bool = False


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Curves with one axis of values."""

    title: str
    unit: Unit
    curves: Sequence[Curve]
    from_zero: bool = True


def curves_figure(title: str, diagrams: Sequence[Diagram], since: str, width: float) -> Figure:
    """The diagrams one below the other; `since` says what the axis of time begins with."""
    times = [time for diagram in diagrams for curve in diagram.curves for time in curve.at_ns]
    first, last = min(times), max(times)
    scales = [_values(diagram) for diagram in diagrams]
    left = max(_room(diagram.unit, scale) for diagram, scale in zip(diagrams, scales, strict=True))
    across = Linear(0, max(last - first, 1), left, width)
    names = list(dict.fromkeys(curve.name for diagram in diagrams for curve in diagram.curves))
    body: list[str] = []
    top = 0.0
    for diagram, scale in zip(diagrams, scales, strict=True):
        up = Linear(scale.low, scale.high, top + _HEADING + _PLOT, top + _HEADING)
        body.append(svg.text((0, top + 14), fitted(diagram.title, width, SIZE), "strong", size=SIZE))
        body += _grid(diagram.unit, across, up)
        body += (
            svg.mark(curve.about, *_curve(curve, names.index(curve.name), first, (across, up)))
            for curve in diagram.curves
        )
        top += _HEADING + _PLOT + _BETWEEN
    body += time_axis(across, top - _BETWEEN)
    body.append(svg.text((width, top + _AXIS - _BETWEEN - 4), since, "soft", size=TICK, anchor="end"))
    height = top + _AXIS - _BETWEEN + 4
    if len(names) > 1:
        parts = [Part(name=name, value=0, look=svg.fill(place), said="") for place, name in enumerate(names)]
        key = legend(parts, left=left, top=height, width=width - left)
        body += key.body
        height += key.height
    return Figure(title=title, width=width, height=height, body=tuple(body))


def _values(diagram: Diagram) -> Linear:
    """From 0 or from just below the lowest value to just above the highest."""
    rows = [value for curve in diagram.curves for value in (*curve.values, *curve.lowest, *curve.highest)]
    low, high = min(rows), max(rows)
    room = 0.08 * ((high - low) or abs(high) or 1.0)
    bottom = min(0.0, low) if diagram.from_zero else low - room
    return Linear(bottom, high + room, 0, 0)


def _room(unit: Unit, scale: Linear) -> float:
    return max(text_width(unit.written(tick), TICK) for tick in ticks(scale, unit, most=4)) + 8


def _grid(unit: Unit, across: Linear, up: Linear) -> Iterator[str]:
    for tick in ticks(up, unit, most=4):
        y = up(tick)
        yield svg.line((across.start, y), (across.end, y), "grid")
        yield svg.text((across.start - 6, y + 4), unit.written(tick), "soft", size=TICK, anchor="end")


def _curve(curve: Curve, series: int, first: float, scales: tuple[Linear, Linear]) -> Iterator[str]:
    across, up = scales
    places = [across(time - first) for time in curve.at_ns]
    if curve.lowest and curve.highest:
        above = [(x, up(value)) for x, value in zip(places, curve.highest, strict=True)]
        below = [(x, up(value)) for x, value in zip(places, curve.lowest, strict=True)]
        yield svg.polygon((*above, *reversed(below)), f"{svg.fill(series)} band")
    points = [(x, up(value)) for x, value in zip(places, curve.values, strict=True)]
    yield svg.polyline(_held(points) if curve.held else points, svg.stroke(series))


def _held(points: Sequence[svg.Point]) -> list[svg.Point]:
    """Each value stays until the next."""
    steps = [point for place, (x, y) in enumerate(points[1:]) for point in ((x, points[place][1]), (x, y))]
    return [*points[:1], *steps]
