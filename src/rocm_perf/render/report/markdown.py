"""A document as Markdown: every section with something to say, and every number's formula at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from urllib.parse import quote

from rocm_perf.model.document import Document
from rocm_perf.render.figures.files import PictureFile
from rocm_perf.render.grid import GridColumn
from rocm_perf.render.sections.index import SECTIONS
from rocm_perf.render.sections.section import Grid, Item, Section, legend
from rocm_perf.render.use_bars import key, shown_parts
from rocm_perf.text import clean

TOP = 20
_NO_PICTURES: Mapping[str, PictureFile] = MappingProxyType({})


def markdown(document: Document, pictures: Mapping[str, PictureFile] = _NO_PICTURES) -> str:
    """The whole report. Pictures are those of its topics, and lie beside it."""
    described = {topic: describe(document, TOP) for topic, describe in SECTIONS.items()}
    parts = (
        _head(document),
        *(
            section_lines(section, pictures.get(topic))
            for topic, section in described.items()
            if section.unavailable is None
        ),
        _missing([section for section in described.values() if section.unavailable]),
        _formulas(document),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numeric: int = 0) -> Iterator[str]:
    """A Markdown table whose first `numeric` columns are right-aligned."""
    texts = ([plain(cell) for cell in row] for row in rows)
    yield from _rows(headings, [place < numeric for place in range(len(headings))], texts)


def _head(document: Document) -> Iterator[str]:
    run = document.run
    yield f"# {plain(PurePath(document.label).name)}"
    yield ""
    facts = [plain(f"Recorded by {run.tool}" + (f" {run.tool_version}" if run.tool_version else ""))]
    if run.command:
        facts.append(f"command {_code(run.command)}")
    facts.append(f"analysed by {document.producer}")
    yield "; ".join(facts) + "."
    yield ""


def section_lines(section: Section, picture: PictureFile | None = None) -> Iterator[str]:
    """A section under its heading, and its picture."""
    yield f"## {section.title}"
    if picture is not None:
        yield f"![{_without_brackets(plain(picture.title))}]({quote(picture.name)})"
        yield ""
    yield from _body(section)
    for part in section.parts:
        yield f"### {plain(part.title)}"
        yield from _body(part, inside=True)


def _body(section: Section, *, inside: bool = False) -> Iterator[str]:
    """What a section says; `inside` another one, its tables stand one level lower."""
    for text in section.lines:
        yield f"{plain(text)}  "  # two spaces: a line of its own
    if section.lines:
        yield ""
    for item in section.items:
        yield from _item(item)
    if section.items:
        yield ""
    for grid in section.grids:
        yield from _grid(grid, inside=inside)
    for note in section.notes:
        yield f"- Note: {plain(note)}"
    if section.notes:
        yield ""


def _item(item: Item) -> Iterator[str]:
    yield f"- **{plain(item.title)}**"
    yield from (f"  - {plain(detail)}" for detail in item.details)
    yield from (f"  - {label}: {plain(text)}" for label, text in item.facts)
    if item.command:
        yield f"  - Next: {_code(item.command)}"


def _grid(grid: Grid, *, inside: bool) -> Iterator[str]:
    if grid.title:
        yield f"{'####' if inside else '###'} {plain(grid.title)}"
    shown = [[_shown(cell, column) for cell in column.cells] for column in grid.columns]
    headings = [column.heading.strip() for column in grid.columns]
    yield from _rows(headings, [column.numeric for column in grid.columns], zip(*shown, strict=True))
    if parts := shown_parts(bar for column in grid.columns for bar in column.bars):
        yield f"{plain(key(parts).plain)}  "
    if said := legend(grid):
        yield plain(said)
        yield ""
    if grid.left_out:
        yield f"And {grid.left_out:,} more."
        yield ""


def _rows(headings: Sequence[str], numeric: Sequence[bool], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(headings)
    yield _row(["---:" if right else "---" for right in numeric])
    yield from (_row(row) for row in rows)
    yield ""


def _shown(cell: str, column: GridColumn) -> str:
    """An identifier in code font; the indentation of a tree stays outside, where Markdown keeps it."""
    if column.bars and cell:
        return f"`{cell}`"
    name = cell.lstrip(" ")
    return "&nbsp;" * (len(cell) - len(name)) + _code(name) if column.code and name else plain(cell)


def _missing(sections: Sequence[Section]) -> Iterator[str]:
    """Why the other sections are missing."""
    if sections:
        yield "## Not in this recording"
        yield from (f"- {section.title}: {plain(section.unavailable or '')}." for section in sections)
        yield ""


def _formulas(document: Document) -> Iterator[str]:
    yield "## How the numbers are computed"
    yield from table(("number", "formula"), sorted(document.formulas.items()))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{_one_line(text).replace('`', '')}`"


def plain(text: str) -> str:
    """The text without what Markdown would interpret: tags, emphasis, the end of a cell."""
    return _one_line(text).replace("<", "&lt;").replace("*", "\\*")


def _without_brackets(text: str) -> str:
    return text.replace("[", "(").replace("]", ")")


def _one_line(text: str) -> str:
    """Without what a terminal or a page would obey when it shows the report."""
    return clean(text).replace("|", "\\|")
