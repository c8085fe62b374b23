"""The definitions of a column and of a table of a Trace."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

Dtype = type[pl.DataType]


class Column(msgspec.Struct, frozen=True):
    """One column of one table."""

    name: str
    dtype: Dtype
    doc: str
    unit: str = ""
    required: bool = False  # a required column holds no nulls
    default: Any = None  # the value if an adapter does not know the column
    limit: float | None = None  # how far from 0 a value can be that some machine recorded (bounds.py)


class TableSchema(msgspec.Struct, frozen=True):
    """One table: its columns in order, and what one row is."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @property
    def dtypes(self) -> dict[str, Dtype]:
        """The type of each column, by name and in order."""
        return {column.name: column.dtype for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)
