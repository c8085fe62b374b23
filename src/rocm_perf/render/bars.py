"""Bars in a picture (SVG): one panel above the other, each with groups of bars and lines across for its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rocm_perf.render import svg

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
    colours = {name: svg.COLOURS[place % len(svg.COLOURS)] for place, name in enumerate(names)}
    height = _TOP + len(panels) * _PANEL_HEIGHT
    body = [svg.text((_LEFT, 22), title, size=16), *_legend(colours)]
    for place, panel in enumerate(panels):
        body += _panel(panel, _TOP + place * _PANEL_HEIGHT, colours)
    return svg.picture(title, width=_WIDTH, height=height, body=body)


def _legend(colours: Mapping[str, str]) -> Iterator[str]:
    left = float(_LEFT)
    for name, colour in colours.items():
        yield f'<rect x="{left:.0f}" y="34" width="12" height="12" fill="{colour}"/>'
        yield svg.text((left + 17, 45), name)
        left += 40 + 7 * len(name)


def _panel(panel: Panel, top: float, colours: Mapping[str, str]) -> Iterator[str]:
    values = [value for row in panel.bars.values() for value in row if value is not None]
    most = max((*values, *panel.limits.values()), default=0.0) or 1.0
    base = top + 24 + _BAR_AREA
    yield svg.text((_LEFT, top + 14), f"{panel.title}, {panel.unit}", size=13)
    yield _across(base, "#000000")
    yield from _groups(panel, base, _BAR_AREA / most, colours)
    for name, value in panel.limits.items():
        height = base - value * _BAR_AREA / most
        yield _across(height, "#777777", dashed=True)
        yield svg.text((_WIDTH - _RIGHT + 6, height + 4), f"{value:,.4g} {name}")


def _groups(panel: Panel, base: float, scale: float, colours: Mapping[str, str]) -> Iterator[str]:
    room = (_WIDTH - _LEFT - _RIGHT) / max(1, len(panel.groups))
    width = 0.8 * room / max(1, len(panel.bars))
    for number, group in enumerate(panel.groups):
        left = _LEFT + number * room + 0.1 * room
        yield svg.text((left, base + 16), group)
        for place, (name, row) in enumerate(panel.bars.items()):
            value = row[number]
            if value is not None:
                is_wrong = (name, group) in panel.wrong
                fill = _hollow(colours[name]) if is_wrong else f'fill="{colours[name]}"'
                yield _bar(left=left + place * width, base=base, width=width, height=value * scale, fill=fill)
                label = "wrong" if is_wrong else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
                yield svg.text((left + place * width, base - value * scale - 3), label, size=9)


def _hollow(colour: str) -> str:
    return f'fill="none" stroke="{colour}" stroke-dasharray="3 2"'


def _bar(*, left: float, base: float, width: float, height: float, fill: str) -> str:
    place = f'x="{left:.1f}" y="{base - height:.1f}"'
    return f'<rect {place} width="{0.92 * width:.1f}" height="{height:.1f}" {fill}/>'


def _across(height: float, colour: str, *, dashed: bool = False) -> str:
    return svg.line((_LEFT, height), (_WIDTH - _RIGHT, height), colour, dashed=dashed)
