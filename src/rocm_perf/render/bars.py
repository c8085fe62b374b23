"""Bars in a picture (SVG): one panel above the other, each with groups of bars and lines across for its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rocm_perf.render import svg
from rocm_perf.render.figures.figure import Figure, as_file

Bars = Mapping[str, Sequence[float | None]]
_WIDTH, _PANEL_HEIGHT, _BAR_AREA = 960, 250, 160
_LEFT, _RIGHT, _TOP = 70, 190, 64


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One diagram. `bars` has, by name, a value for each group, or None where there is none."""

    title: str
    unit: str
    groups: tuple[str, ...]
    bars: Bars
    limits: Mapping[str, float] = field(default_factory=dict)  # lines across, by name
    wrong: frozenset[tuple[str, str]] = frozenset()  # bars, by name and group, that count for nothing


def bar_picture(title: str, panels: Sequence[Panel]) -> str:
    """The picture as the text of an SVG file."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.bars))
    height = _TOP + len(panels) * _PANEL_HEIGHT
    body = [svg.text((_LEFT, 22), title, size=16), *_legend(names)]
    for place, panel in enumerate(panels):
        body += _panel(panel, _TOP + place * _PANEL_HEIGHT, names)
    return as_file(Figure(title=title, width=_WIDTH, height=height, body=tuple(body)))


def _legend(names: Sequence[str]) -> Iterator[str]:
    left = float(_LEFT)
    for place, name in enumerate(names):
        yield svg.rect(svg.Box(left, 34, 12, 12), svg.fill(place))
        yield svg.text((left + 17, 45), name)
        left += 40 + 7 * len(name)


def _panel(panel: Panel, top: float, names: Sequence[str]) -> Iterator[str]:
    values = [value for row in panel.bars.values() for value in row if value is not None]
    most = max((*values, *panel.limits.values()), default=0.0) or 1.0
    base = top + 24 + _BAR_AREA
    yield svg.text((_LEFT, top + 14), f"{panel.title}, {panel.unit}", size=13)
    yield _across(base, "axis")
    yield from _groups(panel, base, _BAR_AREA / most, names)
    for name, value in panel.limits.items():
        height = base - value * _BAR_AREA / most
        yield _across(height, "axis dashed")
        yield svg.text((_WIDTH - _RIGHT + 6, height + 4), f"{value:,.4g} {name}")


def _groups(panel: Panel, base: float, scale: float, names: Sequence[str]) -> Iterator[str]:
    room = (_WIDTH - _LEFT - _RIGHT) / max(1, len(panel.groups))
    width = 0.8 * room / max(1, len(panel.bars))
    for number, group in enumerate(panel.groups):
        left = _LEFT + number * room + 0.1 * room
        yield svg.text((left, base + 16), group)
        for place, (name, row) in enumerate(panel.bars.items()):
            value = row[number]
            if value is not None:
                is_wrong = (name, group) in panel.wrong
                look = "doubtful" if is_wrong else svg.fill(names.index(name))
                height = value * scale
                yield svg.rect(svg.Box(left + place * width, base - height, 0.92 * width, height), look)
                label = "wrong" if is_wrong else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
                yield svg.text((left + place * width, base - height - 3), label, size=9)


def _across(height: float, look: str) -> str:
    return svg.line((_LEFT, height), (_WIDTH - _RIGHT, height), look)
