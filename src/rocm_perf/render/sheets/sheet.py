"""What a sheet is, and how its columns are made: numbers are those of the Document, in the unit of the heading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import polars as pl

from rocm_perf.model.quantity import Quantity
from rocm_perf.units import NS_PER_MS, NS_PER_US

Row = TypeVar("Row")
Cell = str | int | float | bool | None
SheetColumns = Mapping[str, Callable[[Row], Cell]]

SHARE, RUNNING_SHARE = "Percentage (%)", "Cumulative Percentage (%)"


@dataclass(frozen=True)
class Sheet:
    """One table. Without rows, `missing` says why there are none."""

    name: str
    holds: str  # what one row is
    frame: pl.DataFrame
    missing: str | None = None


def sheet(
    name: str, holds: str, rows: Sequence[Row], columns: SheetColumns[Row], missing: str | None = None
) -> Sheet:
    """A sheet with one row for each of `rows`."""
    cells = {heading: [cell(row) for row in rows] for heading, cell in columns.items()}
    frame = pl.DataFrame(cells, strict=False)
    return Sheet(name, holds, frame, None if rows else missing or "nothing of it was recorded")


def with_shares(sheet: Sheet, heading: str, whole: float) -> Sheet:
    """The sheet with the share that each row has of a whole, and the sum so far."""
    if not sheet.frame.height or not whole:
        return sheet
    shares = [100 * value / whole for value in sheet.frame[heading]]
    added = sheet.frame.with_columns(
        pl.Series(SHARE, shares), pl.Series(RUNNING_SHARE, list(accumulate(shares)))
    )
    return Sheet(sheet.name, sheet.holds, added)


def ms(value_ns: float | None) -> float | None:
    """A time in milliseconds."""
    return None if value_ns is None else value_ns / NS_PER_MS


def us(value_ns: float | None) -> float | None:
    """A time in microseconds."""
    return None if value_ns is None else value_ns / NS_PER_US


def scaled(quantity: Quantity, factor: float = 1) -> float | None:
    """The value of a quantity times a factor; empty where it has none."""
    return None if quantity.value is None else quantity.value * factor
