"""A document as one HTML file that needs nothing else: no network, no other file, and no script to be read or printed.

Texts of a recording are only ever text: templates escape what is filled in, and a policy in the page lets nothing run
but its own script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.results.timeline import Timeline
from rocm_perf.render.page.cells import Explanations, exact
from rocm_perf.render.page.head import head
from rocm_perf.render.page.outline import TABLES
from rocm_perf.render.page.payload import payload
from rocm_perf.render.page.templates import Link, filled, inert
from rocm_perf.render.page.views import topic_figure, views
from rocm_perf.render.sections.index import SECTIONS
from rocm_perf.text import clean

ROWS = 300  # of each list; `--json` has all
_FILES = 3  # named as the source of a number


def page(document: Document, timeline: Timeline | None = None, links: Sequence[Link] = ()) -> str:
    """The report as HTML, with the timeline of the recording where anything in it has a time; `links` lead to other
    pages of a server."""
    explanations = Explanations(document.formulas)
    sections = {name: describe(document, ROWS) for name, describe in SECTIONS.items()}
    missing = [section for section in sections.values() if section.unavailable]
    top = head(document, missing, explanations)
    return filled(
        "page.html",
        producer=document.producer,
        title=top.title,
        document=document,
        links=links,
        head=top,
        shares=topic_figure(document, "ledger"),
        timeline=timeline,
        groups=views(document, sections, explanations),
        payload=payload(document, timeline),
        explanations=inert(explanations.entries),
        sources=inert(dict(_sources(document))),
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
