"""Series of measurements in a picture (SVG): one panel above the other, a dot and its interval for each run, a line
where the level changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rocm_perf.render import svg
from rocm_perf.render.figures.figure import Figure, as_file

_WIDTH, _PANEL_HEIGHT, _PLOT_HEIGHT = 960, 260, 180
_LEFT, _RIGHT, _TOP = 90, 30, 40
_ROOM = 0.08  # of the range, above the highest and below the lowest


@dataclass(frozen=True)
class Dot:
    """One run: its value, its interval if there is one, and what a browser shows beside the pointer."""

    value: float
    interval: tuple[float, float] | None
    label: str


@dataclass(frozen=True, kw_only=True)
class Trend:
    """One diagram. A step is the place of the first dot after it, and what it says."""

    title: str
    unit: str
    dots: Sequence[Dot]
    steps: Sequence[tuple[int, str]] = field(default=())


@dataclass(frozen=True)
class _Scale:
    """Where values and places lie in the picture."""

    low: float
    high: float
    bottom: float
    count: int

    def y(self, value: float) -> float:
        return self.bottom - (value - self.low) / (self.high - self.low) * _PLOT_HEIGHT

    def x(self, place: float) -> float:
        return _LEFT + (place + 0.5) / self.count * (_WIDTH - _LEFT - _RIGHT)


def trend_picture(title: str, trends: Sequence[Trend]) -> str:
    """The picture as the text of an SVG file."""
    panels = (
        line for place, trend in enumerate(trends) for line in _panel(trend, _TOP + place * _PANEL_HEIGHT)
    )
    body = [svg.text((_LEFT, 24), title, size=16), *panels]
    height = _TOP + len(trends) * _PANEL_HEIGHT
    return as_file(Figure(title=title, width=_WIDTH, height=height, body=tuple(body)))


def _panel(trend: Trend, top: float) -> Iterator[str]:
    yield svg.text((_LEFT, top + 14), trend.title, size=13)
    if not trend.dots:
        return
    scale = _scale(trend.dots, top + 28 + _PLOT_HEIGHT)
    for part in range(5):
        value = scale.low + part / 4 * (scale.high - scale.low)
        y = scale.y(value)
        yield svg.line((_LEFT, y), (_WIDTH - _RIGHT, y), "grid")
        yield svg.text((4, y + 4), f"{value:.4g} {trend.unit}", size=11)
    for place, label in trend.steps:
        x = scale.x(place - 0.5)
        yield svg.line((x, scale.y(scale.low)), (x, scale.y(scale.high)), "change")
        yield svg.text((x + 4, scale.y(scale.high) + 11), label, size=11)
    yield svg.text(
        (_LEFT, scale.bottom + 18), f"from {trend.dots[0].label} to {trend.dots[-1].label}", size=11
    )
    for place, dot in enumerate(trend.dots):
        yield from _dot(dot, scale.x(place), scale)


def _dot(dot: Dot, x: float, scale: _Scale) -> Iterator[str]:
    if dot.interval is not None:
        low, high = (min(max(bound, scale.low), scale.high) for bound in dot.interval)
        yield svg.line((x, scale.y(low)), (x, scale.y(high)), "stroke-1")
    yield svg.mark(dot.label, svg.circle((x, scale.y(dot.value)), 3.5, "fill-1"))


def _scale(dots: Sequence[Dot], bottom: float) -> _Scale:
    """From the lowest to the highest value with some room; intervals are cut there, which can be absurdly wide."""
    values = [dot.value for dot in dots]
    room = _ROOM * (max(values) - min(values)) or 0.05 * abs(max(values)) or 1.0
    return _Scale(min(values) - room, max(values) + room, bottom, len(dots))
