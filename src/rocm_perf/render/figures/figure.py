"""A drawing, and its two dressings: in a page, whose style sheet colours it, and as a file that stands alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from rocm_perf.render import svg

WIDE, NARROW = 920, 360  # units of the picture, which are pixels where there is room
# The light half of web/src/colours.css.
COLOURS = {
    "ground": "#ffffff",
    "line": "#d9dde3",
    "ink": "#15191f",
    "ink-soft": "#58616d",
    "good": "#1a7f4b",
    "warn": "#9a6200",
    "bad": "#b3261e",
    "path": "#d55e00",
    "idle": "#e3e6ea",
    "series-1": "#0072b2",
    "series-2": "#e69f00",
    "series-3": "#009e73",
    "series-4": "#cc79a7",
    "series-5": "#56b4e9",
    "series-6": "#d55e00",
    "series-7": "#a39b00",
    "series-8": "#6b7280",
}
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")
_XML = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A drawing of this size; `title` says in one sentence what it shows, to those who cannot see it."""

    title: str
    width: float
    height: float
    body: tuple[str, ...]


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to draw."""

    reason: str


Drawn = Figure | Missing
# From what is drawn and the width that there is to a drawing.
Draw = Callable[..., Drawn]


def in_page(figure: Figure, look: str = "") -> str:
    """The drawing for a page that holds figure.css."""
    return _picture(figure, figure.body, class_=f"figure {look}".strip())


def as_file(figure: Figure) -> str:
    """The drawing as the text of an SVG file, on a white ground."""
    ground = svg.rect(svg.Box(0, 0, figure.width, figure.height), "ground")
    body = (svg.element("style", _fixed_style()), ground, *figure.body)
    return _picture(figure, body, class_="figure", width=figure.width, height=figure.height) + "\n"


@cache
def style() -> str:
    """The rules of figure.css."""
    return resources.files("rocm_perf.render.figures").joinpath("figure.css").read_text("utf-8")


@cache
def _fixed_style() -> str:
    """The rules with their colours, for programs that know no variables."""
    return _VARIABLE.sub(lambda match: COLOURS[match[1]], style())


def _picture(figure: Figure, body: tuple[str, ...], **attributes: str | float) -> str:
    return svg.element(
        "svg",
        svg.hint(figure.title),
        *body,
        xmlns=_XML,
        viewBox=f"0 0 {figure.width:g} {figure.height:g}",
        role="img",
        **attributes,
    )
