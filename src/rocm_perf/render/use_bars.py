"""Bars of how busy a unit was: the useful part of its work, the wasted one, or all of it where nothing tells them
apart. As characters for a terminal and for Markdown, and as a picture for a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

from rocm_perf.render import svg
from rocm_perf.render.drawings.characters import UNICODE, Characters
from rocm_perf.units import format_share

UsePart = Literal["useful", "wasted", "busy", "waiting"]
MEANINGS: dict[UsePart, str] = {
    "useful": "useful work",
    "wasted": "wasted work",
    "busy": "busy; how much of it is useful is not known",
}
STYLES: dict[UsePart, str] = {"useful": "green", "wasted": "yellow", "busy": "blue", "waiting": "magenta"}
CELLS = 20  # of a bar whose width nothing decides
_HEIGHT = 14  # pixels
_SLIVER = 0.005  # of what is busy: a smaller part rounds to nothing in the number beside the bar
_LEAST = 0.004  # of a bar in a page: what is busy at all is seen


@dataclass(frozen=True)
class UseBar:
    """How busy a unit was, and the useful share of its work: None where it is not known. Or how long waves waited."""

    busy: float
    useful: float | None
    is_wait: bool = False

    @property
    def parts(self) -> tuple[tuple[UsePart, float], ...]:
        """The parts of the bar from its start, each with its share of the full length."""
        busy = min(max(self.busy, 0.0), 1.0)
        if self.useful is None:
            return (("waiting" if self.is_wait else "busy", busy),) if busy else ()
        useful = busy * min(max(self.useful, 0.0), 1.0)
        both: tuple[tuple[UsePart, float], ...] = (("useful", useful), ("wasted", busy - useful))
        return tuple((part, share) for part, share in both if share > _SLIVER * busy)

    @property
    def said(self) -> str:
        """The bar in words."""
        known = "" if self.useful is None else f", {format_share(self.useful)} of that useful"
        return f"{'waiting' if self.is_wait else 'busy'} {format_share(self.busy)}{known}"


def bar_cells(bar: UseBar, width: int) -> list[tuple[UsePart, int]]:
    """Return the parts of the bar with their numbers of cells. Of a bar with two cells or more, every part is seen."""
    total = round(sum(share for _, share in bar.parts) * width)
    if not total:
        return []
    if total == 1 or len(bar.parts) == 1:
        longest = max(bar.parts, key=lambda part: part[1])
        return [(longest[0], total)]
    (first, share), (second, _) = bar.parts
    cells = min(max(round(share * width), 1), total - 1)
    return [(first, cells), (second, total - cells)]


def bar_text(bar: UseBar | None, width: int, characters: Characters) -> Text:
    """Return the bar in so many cells; none at all where nothing is known."""
    text = Text(no_wrap=True)
    for part, cells in bar_cells(bar, width) if bar else ():
        text.append(characters.use[part] * cells, STYLES[part])
    return text


def scale(width: int) -> str:
    """Return the ends of the bars, and their middle where there is room, to stand above them."""
    ends = f"0{'100 %':>{width - 1}}"
    middle = width // 2
    return ends if width < CELLS else f"{ends[: middle - 2]}50 %{ends[middle + 2 :]}"


def shown_parts(bars: Iterable[UseBar | None]) -> tuple[UsePart, ...]:
    """Return the parts that occur in these bars, and have to be explained."""
    found = {part for bar in bars if bar for part, _ in bar.parts}
    return tuple(part for part in MEANINGS if part in found)


def key(parts: Iterable[UsePart], characters: Characters = UNICODE) -> Text:
    """Return what the characters of bars mean."""
    text = Text()
    for part in parts:
        text.append("   " if text else "").append(characters.use[part], STYLES[part])
        text.append(f" {MEANINGS[part]}")
    return text


def bar_picture(bar: UseBar | None) -> str:
    """Return the bar for a page: as wide as its cell."""
    if bar is None:
        return ""
    drawn = [svg.element("rect", width="100%", height=_HEIGHT, class_="free")]
    left = 0.0
    for part, share in bar.parts:
        drawn += _area(part, left, max(share, _LEAST))
        left += share
    return svg.element("svg", svg.hint(bar.said), *drawn, class_="use", role="img")


def swatch(part: UsePart) -> str:
    """Return a small picture of a part, for the key below a table."""
    return svg.element("svg", *_area(part, 0.0, 1.0), class_="use swatch")


def _area(part: UsePart, left: float, share: float) -> Iterator[str]:
    """The area of a part, striped where the work is wasted, so that it is told apart without its colour."""
    place = {"x": f"{100 * left:.2f}%", "width": f"{100 * share:.2f}%"}
    yield svg.element("rect", **place, height=_HEIGHT, class_=part)
    if part == "wasted":
        ends = {"x1": f"{100 * left:.2f}%", "x2": f"{100 * (left + share):.2f}%"}
        yield svg.element("line", **ends, y1=_HEIGHT / 2, y2=_HEIGHT / 2, class_="stripes")
