"""The elements of a picture (SVG), written by hand: texts are always text, never markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rocm_perf.text import clean

Point = tuple[float, float]
# Told apart by colour-blind readers, too: Okabe and Ito, "Color Universal Design" (2008).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
BLUE, VERMILION, LIGHT_GREY = COLOURS[0], COLOURS[5], "#dddddd"


def picture(title: str, *, width: int, height: int, body: Iterable[str]) -> str:
    """The text of an SVG file on a white ground."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">',
            hint(title),
            f'<rect width="{width}" height="{height}" fill="white"/>',
            *body,
            "</svg>\n",
        ]
    )


def text(place: Point, content: str, *, size: int = 12) -> str:
    """A line of text that starts at this place."""
    where = f'x="{place[0]:.1f}" y="{place[1]:.1f}" font-family="sans-serif" font-size="{size}"'
    return f"<text {where}>{escape(clean(content))}</text>"


def line(start: Point, end: Point, colour: str, *, dashed: bool = False) -> str:
    """A straight line."""
    pattern = ' stroke-dasharray="5 4"' if dashed else ""
    places = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {places} stroke="{colour}"{pattern}/>'


def dot(centre: Point, colour: str, label: str) -> str:
    """A dot that says more when the pointer is on it."""
    where = f'cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="3.5"'
    return f'<circle {where} fill="{colour}">{hint(label)}</circle>'


def hint(content: str) -> str:
    """What a browser shows beside the pointer."""
    return f"<title>{escape(clean(content))}</title>"
