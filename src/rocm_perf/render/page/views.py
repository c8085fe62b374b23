"""The topics of a document as the page shows them: sections with their figures, tables with explained numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from rocm_perf.model.document import Document
from rocm_perf.render.figures.durations import sparkline
from rocm_perf.render.figures.figure import Figure, Missing, in_page
from rocm_perf.render.figures.index import page_figure
from rocm_perf.render.page.cells import Explanations, Table
from rocm_perf.render.page.outline import OUTLINE, topic_of_formula
from rocm_perf.render.sections.section import Section

_AT_THE_TOP = ("ledger",)  # whose figures stand there
_ENTIRE = ("ledger",)  # whose rows are a sum: they are neither sorted nor hidden
_IN_ROWS = ("kernels",)  # whose rows have figures of their own: one of them all would repeat them


@dataclass(frozen=True)
class View:
    """One topic."""

    name: str
    section: Section
    tables: tuple[Table, ...]
    figure: Markup | None = None
    no_figure: str = ""  # why there is nothing to draw
    row_figures: tuple[Markup, ...] = ()  # one for each row of the first table, or none
    formulas: tuple[tuple[str, str], ...] = ()  # how the numbers of the topic are made
    parts: tuple[View, ...] = ()  # answers of the same kind, such as one for each kernel
    summary: str = ""  # of a part: what is seen of it while it is closed


def views(
    document: Document, sections: Mapping[str, Section], explanations: Explanations
) -> dict[str, list[View]]:
    """The topics in the order of the page, by the heading that they stand under."""
    return {
        title: [_view(document, name, sections[name], explanations) for name in names]
        for title, names in OUTLINE.items()
    }


def topic_figure(document: Document, topic: str) -> Markup | None:
    """The figure of a topic, if there is anything to draw."""
    drawn = page_figure(document, topic)
    return Markup(drawn) if isinstance(drawn, str) else None


def _view(document: Document, name: str, section: Section, explanations: Explanations) -> View:
    elsewhere = section.unavailable or name in (*_AT_THE_TOP, *_IN_ROWS)
    drawn = None if elsewhere else page_figure(document, name)
    return View(
        name=name,
        section=section,
        tables=tuple(
            replace(explanations.table(grid, name), entire=name in _ENTIRE) for grid in section.grids
        ),
        figure=Markup(drawn) if isinstance(drawn, str) else None,
        no_figure=drawn.reason if isinstance(drawn, Missing) else "",
        row_figures=tuple(_durations(document, section)) if name == "kernels" else (),
        formulas=tuple(pair for pair in document.formulas.items() if topic_of_formula(pair[0]) == name),
        parts=tuple(_part(name, part, explanations) for part in section.parts),
    )


def _part(topic: str, part: Section, explanations: Explanations) -> View:
    """One of several answers, whose first line is seen while it is closed."""
    first, *rest = part.lines or ("",)
    tables = tuple(replace(explanations.table(grid, topic), entire=True) for grid in part.grids)
    return View(topic, replace(part, lines=tuple(rest)), tables, summary=first)


def _durations(document: Document, section: Section) -> Iterator[Markup]:
    """How the durations of each kernel run; nothing if none is known."""
    rows = len(section.grids[0].columns[0].cells) if section.grids else 0
    drawn = [sparkline(spot) for spot in document.hotspots.rows[:rows]]
    if any(isinstance(each, Figure) for each in drawn):
        yield from (Markup(in_page(each)) if isinstance(each, Figure) else Markup() for each in drawn)
