"""Rows and columns of any kind in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rich.table import Table
from rich.text import Text


def grid(frame: pl.DataFrame) -> Table:
    """A data frame; numbers to the right, nulls blank."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, dtype in frame.schema.items():
        table.add_column(Text(name), justify="right" if dtype.is_numeric() else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    return table


def text_grid(rows: Sequence[dict[str, str]]) -> Table:
    """Records with the same keys."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row.values()))
    return table
