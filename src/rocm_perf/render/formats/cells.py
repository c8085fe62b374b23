"""Texts in the cells of CSV files."""

from __future__ import annotations

import polars as pl
from polars import selectors

_BEGINS_FORMULA = r"^([=+\-@\t\r])"  # OWASP, "CSV Injection"


def inert(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with an apostrophe before every text that a spreadsheet would take for a formula and compute."""
    return frame.with_columns(selectors.string().str.replace(_BEGINS_FORMULA, "'$1"))
