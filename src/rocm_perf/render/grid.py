"""Tables of any kind in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl
from rich.table import Table
from rich.text import Text

from rocm_perf.model.quantity import Quantity
from rocm_perf.render.drawings.characters import UNICODE, Characters
from rocm_perf.render.use_bars import CELLS, UseBar, bar_text, scale
from rocm_perf.text import clean

Value = Quantity | float | None

_NARROWEST = 8
_WIDEST_BAR = 50
_BEFORE = 3  # characters that are kept before the one in which names differ
_BETWEEN = 2  # columns of the terminal between two of a table


@dataclass(frozen=True)
class GridColumn:
    """One column of cells, as they are shown."""

    heading: str
    cells: Sequence[str]
    numeric: bool
    code: bool = False  # identifiers: cut in the middle, because instances of one kernel differ at their end
    values: Sequence[
        Value
    ] = ()  # what the cells were written from, for a page in which they explain themselves
    wholes: Sequence[str] = ()  # the identifiers in full, where the cells are shorter
    formula: str = ""  # how the values are made: the name of a formula of the Document, or in words
    legend: str = ""  # what the column shows, where its heading alone does not say it
    bars: Sequence[UseBar | None] = ()  # what is drawn in the place of the cells, where there is room

    @property
    def width(self) -> int:
        return max(len(text) for text in (self.heading, *self.cells))


def fitted(columns: Sequence[GridColumn], width: int, characters: Characters = UNICODE) -> Table:
    """A table with one line per row. Numbers keep their digits; where the line is too short, long texts are cut."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    widths = _widths(columns, width)
    for column, room in zip(columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.numeric else "left"
        heading = scale(room) if column.bars else column.heading
        table.add_column(_text(heading), justify=justify, no_wrap=True, overflow="ellipsis")
    cut = [_cut(column, room, characters) for column, room in zip(columns, widths, strict=True)]
    for row in zip(*cut, strict=True):
        table.add_row(*row)
    return table


def _cut(column: GridColumn, room: int, characters: Characters) -> list[Text]:
    """The cells of a column in this many columns of the terminal."""
    if column.bars:
        return [bar_text(bar, room, characters) for bar in column.bars]
    if column.code:
        return [_text(cell) for cell in squeezed_apart(column.cells, room)]
    return [_text(cropped(cell, room)) for cell in column.cells]


def whole(columns: Sequence[GridColumn], characters: Characters = UNICODE) -> Table:
    """A table with every text in full, on as many lines as it needs."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.numeric else "left"
        stays = column.numeric or bool(column.bars)
        heading = scale(CELLS) if column.bars else column.heading
        table.add_column(_text(heading), justify=justify, no_wrap=stays, overflow="fold")
    filled = [
        [bar_text(bar, CELLS, characters) for bar in column.bars]
        if column.bars
        else [_text(cell) for cell in column.cells]
        for column in columns
    ]
    for row in zip(*filled, strict=True):
        table.add_row(*row)
    return table


def natural_width(columns: Sequence[GridColumn]) -> int:
    """How wide a table is in which nothing is cut."""
    return sum(column.width for column in columns) + _BETWEEN * (len(columns) - 1)


def _widths(columns: Sequence[GridColumn], width: int) -> list[int]:
    """How wide each column may be. Numbers keep their digits; short texts stay whole, long ones share what is left."""
    widths = [CELLS if column.bars else column.width for column in columns]
    texts = [place for place, column in enumerate(columns) if not column.numeric and not column.bars]
    left = width - _BETWEEN * (len(columns) - 1) - sum(widths) + sum(widths[place] for place in texts)
    for done, place in enumerate(sorted(texts, key=lambda place: widths[place])):
        widths[place] = min(widths[place], max(left // (len(texts) - done), _NARROWEST))
        left -= widths[place]
    return [
        min(room + max(left, 0), _WIDEST_BAR) if column.bars else room
        for column, room in zip(columns, widths, strict=True)
    ]


def cropped(text: str, room: int) -> str:
    """The text, cut at the end where it is too long."""
    return text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"


def squeezed(name: str, room: int) -> str:
    """The name, cut in the middle where it is too long, so that both ends stay."""
    if len(name) <= room:
        return name
    head = max(room - 1, 2) // 2
    return f"{name[:head]}…{name[-(max(room - 1, 2) - head) :]}"


def squeezed_apart(names: Sequence[str], room: int) -> list[str]:
    """The names, cut so that different ones stay different: where their ends do not tell them apart, the part in which
    they differ is kept."""
    short = [squeezed(name, room) for name in names]
    groups: dict[str, list[str]] = {}
    for name, cut in zip(names, short, strict=True):
        groups.setdefault(cut, []).append(name)
    alike = {cut: _common(own) for cut, own in groups.items() if len(set(own)) > 1}
    return [
        _around(name, alike[cut], room) if cut in alike else cut
        for name, cut in zip(names, short, strict=True)
    ]


def _common(names: Sequence[str]) -> int:
    """How many characters at their start the names have in common."""
    first, last = min(names), max(names)
    return next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))


def _around(name: str, place: int, room: int) -> str:
    """The name with its start and what begins a little before this place."""
    head = max(room // 3, 1)
    rest = max(room - head - 2, 1)
    start = min(max(place - _BEFORE, head), max(len(name) - rest, head))
    ending = name[start : start + rest]
    cut = start + rest < len(name)
    return f"{name[:head]}…{ending}{'…' if cut else ''}"[:room]


def grid(frame: pl.DataFrame, width: int) -> Table:
    """A data frame as a table, with nulls left blank."""
    columns = [
        GridColumn(name, ["" if value is None else str(value) for value in frame[name]], dtype.is_numeric())
        for name, dtype in frame.schema.items()
    ]
    narrowest = sum((column.width if column.numeric else 12) + 2 for column in columns)
    return _upright(columns) if narrowest > width else fitted(columns, width)


def _upright(columns: Sequence[GridColumn]) -> Table:
    """Rows too wide for the terminal, each as a list of the fields that have a value."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True, min_width=max(len(column.heading) for column in columns))
    table.add_column(no_wrap=True, overflow="ellipsis")
    for number, row in enumerate(zip(*(column.cells for column in columns), strict=True), start=1):
        table.add_row(Text(f"row {number}", style="bold"), "")
        for column, cell in zip(columns, row, strict=True):
            if cell:
                table.add_row(_text(column.heading), _text(cell))
    return table


def text_grid(rows: Sequence[dict[str, str]]) -> Table:
    """Records with the same keys as a table, wrapped rather than cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(_text(name), overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    return table


def _text(cell: str) -> Text:
    return Text(clean(cell))
