"""Rows and columns of any kind in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from rich.table import Table
from rich.text import Text

_NARROW = 32  # texts that are not the longest one keep this much


@dataclass(frozen=True)
class GridColumn:
    """One column of cells, as they are shown."""

    heading: str
    cells: Sequence[str]
    numeric: bool

    @property
    def width(self) -> int:
        return max(len(text) for text in (self.heading, *self.cells))


def fitted(columns: Sequence[GridColumn], width: int) -> Table:
    """One line a row. Numbers keep their digits; where the line is too short, the longest text gives way."""
    texts = [column.width for column in columns if not column.numeric]
    too_wide = sum(column.width + 2 for column in columns) > width
    table = Table(box=None, pad_edge=False, header_style="dim", expand=too_wide and bool(texts))
    for column in columns:
        if column.numeric:
            table.add_column(Text(column.heading), justify="right", no_wrap=True)
        elif too_wide and column.width == max(texts):
            table.add_column(Text(column.heading), no_wrap=True, overflow="ellipsis", ratio=1)
        else:
            limit = _NARROW if too_wide else None
            table.add_column(Text(column.heading), no_wrap=True, overflow="ellipsis", max_width=limit)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    return table


def grid(frame: pl.DataFrame, width: int) -> Table:
    """A data frame; nulls blank."""
    columns = [
        GridColumn(name, ["" if value is None else str(value) for value in frame[name]], dtype.is_numeric())
        for name, dtype in frame.schema.items()
    ]
    narrowest = sum((column.width if column.numeric else 12) + 2 for column in columns)
    return _upright(columns) if narrowest > width else fitted(columns, width)


def _upright(columns: Sequence[GridColumn]) -> Table:
    """Rows too wide for any line: each as a list of its fields, those without a value left out."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True, min_width=max(len(column.heading) for column in columns))
    table.add_column(no_wrap=True, overflow="ellipsis")
    for number, row in enumerate(zip(*(column.cells for column in columns), strict=True), start=1):
        table.add_row(Text(f"row {number}", style="bold"), "")
        for column, cell in zip(columns, row, strict=True):
            if cell:
                table.add_row(Text(column.heading), Text(cell))
    return table


def text_grid(rows: Sequence[dict[str, str]]) -> Table:
    """Records with the same keys, wrapped rather than cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row.values()))
    return table
