"""The longest kernels on the first screen, and beside them the roofline that they stand under by their letters."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rocm_perf.model.document import Document
from rocm_perf.model.results.times import Hotspot
from rocm_perf.render.drawings.roofline import RooflineDrawing, roofline_drawing
from rocm_perf.render.grid import GridColumn, fitted, natural_width, whole
from rocm_perf.render.kernel_names import told_apart
from rocm_perf.render.lines import line, paragraph
from rocm_perf.render.screen.view import View
from rocm_perf.render.sections.kernels import LEGENDS, kernel_counts, path_scores
from rocm_perf.render.sections.limits import limits_by_kernel
from rocm_perf.render.sections.section import Columns, code, count, grids, number, share, text, time
from rocm_perf.units import format_count, format_ns

ROOFLINE_FROM = 120  # columns of a terminal
LEGEND_LINES = 2  # for what the columns of the table show
_LEAST_PLAIN = ("path", "limited by")
_GAP = 2  # columns between the table and the roofline
_LETTER = 3  # columns that letters take in the table
_NARROWEST, _WIDEST, _HIGHEST = 40, 66, 13  # of the roofline


def hotspot_blocks(
    document: Document, view: View, *, rows: int, lines: int, legend: int = LEGEND_LINES
) -> Iterator[RenderableType]:
    """So many kernels; the roofline stands to their right where that is wide enough, in at most so many lines."""
    if not document.hotspots.rows:
        return
    yield Text()
    drawing = _roofline(document, view, rows, lines)
    if drawing is None:
        yield from _listed(document, view, rows, {}, legend)
    else:
        left = dataclasses.replace(view, width=view.width - _GAP - drawing.width)
        yield _beside(Group(*_listed(document, left, rows, drawing.letters, legend)), drawing)


def _roofline(document: Document, view: View, rows: int, lines: int) -> RooflineDrawing | None:
    """The roofline, as wide as the table leaves room for."""
    if view.characters is None or view.brief or view.full_names or view.width < ROOFLINE_FROM:
        return None
    table = natural_width(_columns(document, view, rows, {})) + _LETTER
    return roofline_drawing(
        document.roofline,
        [spot.kernel for spot in document.hotspots.rows[:rows]],
        width=min(max(view.width - table - _GAP, _NARROWEST), _WIDEST),
        height=min(lines - 1, _HIGHEST),  # below its title
        characters=view.characters,
    )


def _beside(left: RenderableType, drawing: RooflineDrawing) -> Table:
    both = Table.grid(padding=(0, _GAP, 0, 0), expand=True)
    both.add_column(ratio=1)
    both.add_column(no_wrap=True, width=drawing.width)
    title = line(("Roofline", "bold"), f"  {drawing.caption}")
    both.add_row(left, Group(title, *drawing.lines))
    return both


def kernel_legend(columns: Sequence[GridColumn], view: View, lines: int) -> list[Text]:
    """What the columns of the table show, on so many lines; on one, those that a heading alone says least about."""
    shown = [column.heading for column in columns if column.heading in LEGENDS]
    headings = shown if lines >= LEGEND_LINES else [heading for heading in _LEAST_PLAIN if heading in shown]
    said = "; ".join(f"{heading}: {LEGENDS[heading]}" for heading in headings)
    return paragraph(said, view.width, lines, style="dim") if lines and said else []


def _listed(
    document: Document, view: View, rows: int, letters: Mapping[str, str], legend: int
) -> Iterator[RenderableType]:
    yield line(("Kernels", "bold"), f"  {kernel_counts(document)}")
    columns = _columns(document, view, rows, letters)
    if not legend:
        columns = tuple(column for column in columns if column.heading not in _LEAST_PLAIN[:1])
    yield whole(columns) if view.full_names else fitted(columns, view.width)
    yield from kernel_legend(columns, view, legend)
    if rest := document.hotspots.rows[rows:]:
        total = format_ns(sum(spot.total_ns for spot in rest))
        more = format_count(len(rest), "more kernel")
        yield line((f"{more}: {total} (--top N, --full-names, --show kernels)", "dim"))


def _columns(document: Document, view: View, rows: int, letters: Mapping[str, str]) -> tuple[GridColumn, ...]:
    score, limits = path_scores(document), limits_by_kernel(document)
    names = told_apart(document.hotspots.rows[:rows])
    columns: Columns[Hotspot] = (
        number("share", lambda row: share(row.share)),
        number("total", lambda row: time(row.total_ns)),
        number("calls", lambda row: count(row.calls)),
        number("mean", lambda row: time(row.mean_ns)),
        number("path", lambda row: share(score.get(row.kernel))),
        text("limited by", lambda row: limits.get(row.kernel, "")),
        text("", lambda row: letters.get(row.kernel, "")),
        code("kernel", lambda row: row.kernel if view.full_names else names[row.kernel]),
    )
    (table,) = grids("", document.hotspots.rows[:rows], columns)
    return table.columns
