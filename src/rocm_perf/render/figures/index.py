"""All figures by the topic of the document that they illustrate."""

from __future__ import annotations

from collections.abc import Callable

from rocm_perf.model.document import Document
from rocm_perf.render.figures.durations import kernels_figure
from rocm_perf.render.figures.families import families_figure
from rocm_perf.render.figures.figure import NARROW, WIDE, Drawn, Missing, in_page
from rocm_perf.render.figures.idle import idle_figure
from rocm_perf.render.figures.instructions import sampled_figure, traced_figure
from rocm_perf.render.figures.operators import flame_figure
from rocm_perf.render.figures.over_time import memory_figure, sensors_figure
from rocm_perf.render.figures.path import path_figure
from rocm_perf.render.figures.phases import phases_figure
from rocm_perf.render.figures.ranks import ranks_figure
from rocm_perf.render.figures.roofline import roofline_figure
from rocm_perf.render.figures.time_shares import time_shares_figure
from rocm_perf.render.figures.traffic import traffic_figure
from rocm_perf.render.figures.waiting import waiting_figure
from rocm_perf.render.sections.section import short_names

FIGURES: dict[str, Callable[[Document, float], Drawn]] = {
    "ledger": time_shares_figure,
    "phases": lambda document, width: phases_figure(document.phases, document.steps, width),
    "gaps": lambda document, width: idle_figure(document.gaps, document.devices, width),
    "sync": lambda document, width: waiting_figure(document.sync, width),
    "kernels": lambda document, width: kernels_figure(document.hotspots, width),
    "families": lambda document, width: families_figure(document.families, width),
    "ranks": lambda document, width: ranks_figure(document.ranks, width),
    "communication": lambda document, width: traffic_figure(document.communication, width),
    "operators": lambda document, width: flame_figure(document.operators, width),
    "path": lambda document, width: path_figure(document.path, short_names(document), width),
    "roofline": lambda document, width: roofline_figure(document.roofline, width),
    "instructions": lambda document, width: traced_figure(document.thread_trace, width),
    "pc-samples": lambda document, width: sampled_figure(document.pc_samples, width),
    "memory": lambda document, width: memory_figure(document.memory, width),
    "energy": lambda document, width: sensors_figure(document.energy, width),
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
