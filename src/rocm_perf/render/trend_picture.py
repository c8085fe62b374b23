"""Series of measurements in a picture (SVG): one panel above the other, a dot and its interval for each run, a line
where the level changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from rocm_perf.text import clean

_WIDTH, _PANEL_HEIGHT, _PLOT_HEIGHT = 960, 260, 180
_LEFT, _RIGHT, _TOP = 90, 30, 40
_DOT, _STEP, _GRID = "#0072b2", "#d55e00", "#dddddd"  # Okabe and Ito, "Color Universal Design" (2008)
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
    height = _TOP + len(trends) * _PANEL_HEIGHT
    panels = [
        line for place, trend in enumerate(trends) for line in _panel(trend, _TOP + place * _PANEL_HEIGHT)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" role="img">',
            f"<title>{escape(clean(title))}</title>",
            f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
            _text(_LEFT, 24, title, size=16),
            *panels,
            "</svg>\n",
        ]
    )


def _panel(trend: Trend, top: float) -> Iterator[str]:
    yield _text(_LEFT, top + 14, trend.title, size=13)
    if not trend.dots:
        return
    scale = _scale(trend.dots, top + 28 + _PLOT_HEIGHT)
    for part in range(5):
        value = scale.low + part / 4 * (scale.high - scale.low)
        yield _line((_LEFT, scale.y(value)), (_WIDTH - _RIGHT, scale.y(value)), _GRID)
        yield _text(4, scale.y(value) + 4, f"{value:.4g} {trend.unit}", size=11)
    for place, label in trend.steps:
        x = scale.x(place - 0.5)
        yield _line((x, scale.y(scale.low)), (x, scale.y(scale.high)), _STEP, dashed=True)
        yield _text(x + 4, scale.y(scale.high) + 11, label, size=11)
    for place, dot in enumerate(trend.dots):
        yield from _dot(dot, scale.x(place), scale)


def _dot(dot: Dot, x: float, scale: _Scale) -> Iterator[str]:
    if dot.interval is not None:
        low, high = (min(max(bound, scale.low), scale.high) for bound in dot.interval)
        yield _line((x, scale.y(low)), (x, scale.y(high)), _DOT)
    yield (
        f'<circle cx="{x:.1f}" cy="{scale.y(dot.value):.1f}" r="3.5" fill="{_DOT}">'
        f"<title>{escape(clean(dot.label))}</title></circle>"
    )


def _scale(dots: Sequence[Dot], bottom: float) -> _Scale:
    """From the lowest to the highest value with some room; intervals are cut there, which can be absurdly wide."""
    values = [dot.value for dot in dots]
    room = _ROOM * (max(values) - min(values)) or 0.05 * abs(max(values)) or 1.0
    return _Scale(min(values) - room, max(values) + room, bottom, len(dots))


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, *, dashed: bool = False) -> str:
    pattern = ' stroke-dasharray="5 4"' if dashed else ""
    places = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {places} stroke="{colour}"{pattern}/>'


def _text(left: float, base: float, text: str, *, size: int) -> str:
    place = f'x="{left:.1f}" y="{base:.1f}" font-family="sans-serif" font-size="{size}"'
    return f"<text {place}>{escape(clean(text))}</text>"
