"""A document as one HTML file that needs nothing else: no network, no other file, and no script to be read or printed.

Texts of a recording are only ever text: templates escape what is filled in, and a policy in the page lets nothing run
but its own script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rocm_perf.model.document import TOPICS, Document
from rocm_perf.render.figures.figure import Missing
from rocm_perf.render.figures.index import page_figure
from rocm_perf.render.page.assets import assets
from rocm_perf.render.page.cells import Explanations, Table, exact
from rocm_perf.render.page.head import Head, head
from rocm_perf.render.page.outline import OUTLINE, TABLES
from rocm_perf.render.sections.index import SECTIONS
from rocm_perf.render.sections.section import Section
from rocm_perf.text import ascii_json, clean, compact_json

ROWS = 300  # of each list; `--json` has all
_SPARK = re.compile("([▁-█]{3,})")
_AT_THE_TOP = ("phases",)  # whose figures stand there
_FILES = 3  # named as the source of a number


@dataclass(frozen=True)
class View:
    """One topic as the page shows it."""

    name: str
    section: Section
    tables: tuple[Table, ...]
    figure: Markup | None
    no_figure: str  # why there is nothing to draw


def page(document: Document) -> str:
    """The report as HTML."""
    explanations = Explanations(document.formulas)
    sections = {name: describe(document, ROWS) for name, describe in SECTIONS.items()}
    missing = [section for section in sections.values() if section.unavailable]
    top = head(document, missing, explanations)
    groups = {
        title: [_view(document, name, sections[name], explanations) for name in names]
        for title, names in OUTLINE.items()
    }
    return _filled(document, top, groups, explanations)


def _filled(
    document: Document, top: Head, groups: Mapping[str, list[View]], explanations: Explanations
) -> str:
    built = assets()
    return (
        _templates()
        .get_template("page.html")
        .render(
            document=document,
            head=top,
            phases=_phases(document),
            groups=groups,
            policy=built.policy,
            script=Markup(built.script),
            style=Markup(built.style),
            data={
                "explanations": _inert(explanations.as_json()),
                "sources": _inert(compact_json(dict(_sources(document))).decode()),
            },
        )
    )


def _phases(document: Document) -> Markup | None:
    drawn = page_figure(document, "phases")
    return Markup(drawn) if isinstance(drawn, str) else None


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("rocm_perf.render.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(sparks=_sparks, sentence=_sentence)
    return environment


def _sentence(text: str) -> str:
    """The text with a capital at its beginning and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _sparks(line: str) -> Iterator[tuple[str, bool]]:
    """The parts of a line, and whether each is a series drawn in blocks."""
    for place, text in enumerate(_SPARK.split(line)):
        if text:
            yield text, place % 2 == 1


def _printable(value: object) -> object:
    """What is filled in, without anything that would steer the reader's eye: control characters, marks of direction."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _view(document: Document, name: str, section: Section, explanations: Explanations) -> View:
    drawn = None if section.unavailable or name in _AT_THE_TOP else page_figure(document, name)
    return View(
        name=name,
        section=section,
        tables=tuple(explanations.table(grid, name) for grid in section.grids),
        figure=Markup(drawn) if isinstance(drawn, str) else None,
        no_figure=drawn.reason if isinstance(drawn, Missing) else "",
    )


def _sources(document: Document) -> Iterator[tuple[str, dict[str, object]]]:
    """What each topic was computed from: tables of the recording with their rows, files, fields of `--json`."""
    files = [f"{clean(source.path)} ({source.format})" for source in document.run.sources[:_FILES]]
    more = len(document.run.sources) - len(files)
    for topic in TOPICS:
        tables = TABLES[topic.name] or tuple(document.tables)
        yield (
            topic.name,
            {
                "tables": [
                    f"{name} ({exact(document.tables[name])})" for name in tables if name in document.tables
                ],
                "files": [*files, *([f"and {more} more"] if more > 0 else [])],
                "fields": topic.fields,
            },
        )


def _inert(json: str) -> Markup:
    """JSON that can stand in a page: nothing in it ends its element or begins another."""
    return Markup(ascii_json(json).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
