"""A document in a terminal: the first screen, or the sections that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType

from rich.console import Console, RenderableType
from rich.text import Text

from rocm_perf.model.document import Document
from rocm_perf.render.grid import fitted, whole
from rocm_perf.render.lines import facts, labelled, line, marked, paragraph, show
from rocm_perf.render.screen.answer import answer
from rocm_perf.render.screen.drawn import section_drawing
from rocm_perf.render.screen.view import View
from rocm_perf.render.sections.explain import explanations
from rocm_perf.render.sections.index import SECTIONS, kernel_name
from rocm_perf.render.sections.limits import named_section
from rocm_perf.render.sections.operator_table import operator_table
from rocm_perf.render.sections.section import Grid, Item, Section, legend
from rocm_perf.render.use_bars import key, shown_parts

__all__ = ["View", "print_document", "print_sections", "section_blocks"]

_ROWS = 20
_INDENT = "   "
_NO_FORMULAS: Mapping[str, str] = MappingProxyType({})


def print_document(document: Document, console: Console, view: View) -> None:
    """Print the first screen about one run."""
    for block in answer(document, view):
        show(console, block)


def print_sections(document: Document, names: Sequence[str], console: Console, view: View) -> None:
    """Print the named sections in full, or why they are empty."""
    show(console, line((PurePath(document.label).name, "bold")))
    for name in names:
        console.print()
        title, *rest = section_blocks(_section(name, document, view), view, document.formulas)
        for block in (title, *_drawing(name, document, view), *rest):
            show(console, block)


def _section(name: str, document: Document, view: View) -> Section:
    if (kernel := kernel_name(name)) is not None:
        return named_section(document, kernel)
    if name == "operators" and view.operators_by:
        return operator_table(document, view.top or _ROWS, view.operators_by)
    return SECTIONS[name](document, view.top or _ROWS)


def _drawing(name: str, document: Document, view: View) -> list[Text]:
    return section_drawing(name, document, view.characters, view.width) if view.characters else []


def section_blocks(
    section: Section, view: View, formulas: Mapping[str, str] = _NO_FORMULAS
) -> Iterator[RenderableType]:
    """A section, or why it is empty. `formulas` are those of the Document, for a view that explains its numbers."""
    if section.unavailable:
        yield from labelled(section.title, f"unavailable: {section.unavailable}", view.width)
        return
    yield line((section.title, "bold"))
    for text in section.lines:
        yield from paragraph(text, view.width)
    for place, item in enumerate(section.items, start=1):
        yield from _item(item, place, view)
    for table in section.grids:
        yield from _grid(table, view)
        for text in explanations(table, formulas) if view.explain else ():
            yield from paragraph(text, view.width, indent="  ", style="dim")
    for note in section.notes:
        yield from paragraph(f"note: {note}", view.width, style="dim")
    for part in section.parts:
        yield Text()
        yield from section_blocks(part, view, formulas)


def _item(item: Item, place: int, view: View) -> Iterator[RenderableType]:
    if item.severity:
        yield from marked(item.severity, item.title, view.width)
    else:
        yield from _numbered(place, item, view.width)
    for detail in item.details:
        yield from paragraph(detail, view.width, indent="    ")
    for row in facts(item.facts, view.width - len(_INDENT)):
        yield Text(_INDENT, no_wrap=True, overflow="ellipsis").append_text(row)
    if item.command:
        yield Text(f"    $ {item.command}", style="dim")


def _numbered(place: int, item: Item, width: int) -> Iterator[Text]:
    """The title of an item behind its number; above facts it stands out as the title of a finding does."""
    if not item.facts:
        yield from paragraph(f"{place} {item.title}", width)
        return
    first, *rest = paragraph(item.title, width, indent=_INDENT, style="bold")
    yield line(f"{place}".ljust(len(_INDENT)), (first.plain.lstrip(), "bold"))
    yield from rest


def _grid(table: Grid, view: View) -> Iterator[RenderableType]:
    if table.title:
        yield Text()
        yield line((table.title, "italic"))
    if view.full_names:
        yield whole(table.columns, view.bars)
    else:
        yield fitted(table.columns, view.width, view.bars)
    if parts := shown_parts(bar for column in table.columns for bar in column.bars):
        yield key(parts, view.bars)
    if said := legend(table):
        yield from paragraph(said, view.width, style="dim")
    if table.left_out:
        yield line((f"and {table.left_out:,} more (--top N shows more)", "dim"))
