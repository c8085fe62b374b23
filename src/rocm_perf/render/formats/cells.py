"""Tables as CSV files, and the texts in their cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

_BEGINS_FORMULA = r"^([=+\-@\t\r])"  # OWASP, "CSV Injection"


def write_csv(frame: pl.DataFrame, path: Path, **style: Any) -> None:
    """Write a table. The file is opened here, because Polars accepts only UTF-8 names."""
    with path.open("wb") as file:
        inert(frame).write_csv(file, **style)


def inert(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with an apostrophe before every text that a spreadsheet would take for a formula and compute."""
    return frame.with_columns(selectors.string().str.replace(_BEGINS_FORMULA, "'$1"))
