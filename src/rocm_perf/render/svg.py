"""The elements of a picture (SVG), written by hand: texts are always text, never markup. An element names its looks
(the classes of figures/figure.css), never a colour, so that one drawing suits a page in light or dark, and a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from rocm_perf.text import clean, clean_lines

Point = tuple[float, float]
SERIES = 8  # colours that are told apart
_MOST_HINT = 600  # characters: a name of a kernel can be far longer


@dataclass(frozen=True)
class Box:
    """A rectangle of the picture."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def overlaps(self, other: Box) -> bool:
        """Whether the two have a point in common."""
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)


def fill(series: int) -> str:
    """The look of an area of this series, counted from 0; colours repeat after the last."""
    return f"fill-{series % SERIES + 1}"


def stroke(series: int) -> str:
    """The look of a line of this series."""
    return f"stroke-{series % SERIES + 1}"


def element(tag: str, *content: str, **attributes: str | float | None) -> str:
    """An element around markup; attributes without a value are left out, and `class_` stands for `class`."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_written(value)}"'
        for name, value in attributes.items()
        if value not in (None, "")
    )
    inside = "".join(content)
    return f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>"


def text(place: Point, content: str, look: str = "", *, size: float = 12, anchor: str = "") -> str:
    """A line of text that starts at this place, or ends or has its middle there."""
    words = escape(clean(content))
    return element("text", words, x=place[0], y=place[1], class_=look, font_size=size, text_anchor=anchor)


def turned(content: str, place: Point, degrees: float) -> str:
    """An element turned around this place, clockwise."""
    return element("g", content, transform=f"rotate({degrees:.1f} {place[0]:.1f} {place[1]:.1f})")


def moved(content: Iterable[str], down: float) -> str:
    """Elements that stand this much lower."""
    return element("g", *content, transform=f"translate(0 {down:g})")


def line(start: Point, end: Point, look: str) -> str:
    """A straight line."""
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=look)


def rect(box: Box, look: str, *, rounded: float = 0) -> str:
    """A rectangle."""
    return element(
        "rect",
        x=box.left,
        y=box.top,
        width=max(box.width, 0.0),
        height=max(box.height, 0.0),
        rx=rounded or None,
        class_=look,
    )


def rects(boxes: Iterable[Box], look: str) -> str:
    """Many rectangles of one look as one element, which takes far fewer bytes."""
    return element("path", d="".join(map(_outline, boxes)), class_=look)


def _outline(box: Box) -> str:
    left, top, width, height = map(_written, (box.left, box.top, box.width, box.height))
    return f"M{left} {top}h{width}v{height}h-{width}z"


def circle(centre: Point, radius: float, look: str) -> str:
    """A dot."""
    return element("circle", cx=centre[0], cy=centre[1], r=radius, class_=look)


def polyline(points: Iterable[Point], look: str) -> str:
    """A line through these points."""
    return element("polyline", points=_points(points), class_=look)


def polygon(points: Iterable[Point], look: str) -> str:
    """The area between these points."""
    return element("polygon", points=_points(points), class_=look)


def mark(about: str, *content: str) -> str:
    """Elements that say more when the pointer or the focus is on them; the first line is the heading."""
    return element("g", hint(about), *content, class_="mark")


def hint(about: str) -> str:
    """What a browser shows beside the pointer."""
    shown = about if len(about) <= _MOST_HINT else f"{about[:_MOST_HINT]}…"
    return element("title", escape(clean_lines(shown)))


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{_written(x)},{_written(y)}" for x, y in points)


def _written(value: str | float | None) -> str:
    return escape(value) if isinstance(value, str) else f"{round(value or 0.0, 2):g}"
