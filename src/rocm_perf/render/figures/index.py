"""All figures by the topic of the document that they illustrate."""

from __future__ import annotations

from collections.abc import Callable

from rocm_perf.model.document import Document
from rocm_perf.render.figures.figure import NARROW, WIDE, Drawn, Missing, in_page
from rocm_perf.render.figures.phases import phases_figure
from rocm_perf.render.figures.roofline import roofline_figure

FIGURES: dict[str, Callable[[Document, float], Drawn]] = {
    "phases": lambda document, width: phases_figure(document.phases, document.steps, width),
    "roofline": lambda document, width: roofline_figure(document.roofline, width),
}


def page_figure(document: Document, topic: str) -> str | Missing | None:
    """Markup of the topic's figure for wide and for narrow screens (figures.css shows one of the two), the reason why
    there is nothing to draw, or None where the topic has no figure."""
    draw = FIGURES.get(topic)
    if draw is None:
        return None
    wide, narrow = draw(document, WIDE), draw(document, NARROW)
    if isinstance(wide, Missing) or isinstance(narrow, Missing):
        return wide if isinstance(wide, Missing) else None
    return in_page(wide, "on-wide") + in_page(narrow, "on-narrow")
