"""Sheets as a folder of CSV files, or as one workbook of Excel. No text in them is ever a formula or a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from rocm_perf.errors import OutputError
from rocm_perf.files import write_whole
from rocm_perf.render.formats.cells import write_csv
from rocm_perf.render.sheets.sheet import Sheet
from rocm_perf.text import clean

# Limits of Excel: support.microsoft.com, "Excel specifications and limits".
_LONGEST_NAME = 31
_LONGEST_TEXT = 32_767
_PLAIN_TEXTS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_CHARACTER, _WIDEST = 8, 480  # pixels: names of kernels would fill the screen


def write_folder(sheets: Sequence[Sheet], folder: Path, *, overwrite: bool = False) -> list[Path]:
    """One CSV file per sheet; returns their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}", error.strerror or str(error)) from error
    paths = []
    for sheet in sheets:
        path = folder / f"{sheet.name}.csv"
        write_whole(path, lambda draft, frame=sheet.frame: write_csv(frame, draft), overwrite=overwrite)  # type: ignore[misc]
        paths.append(path)
    return paths


def write_workbook(sheets: Sequence[Sheet], path: Path, *, overwrite: bool = False) -> None:
    """One workbook, one table per sheet."""
    write_whole(path, lambda draft: _write(sheets, draft), overwrite=overwrite)


def _write(sheets: Sequence[Sheet], path: Path) -> None:
    from xlsxwriter import Workbook

    with Workbook(str(path), _PLAIN_TEXTS) as workbook:
        for sheet, name in zip(sheets, _names(sheets), strict=True):
            frame = _fitting(sheet.frame)
            frame.write_excel(
                workbook,
                worksheet=name,
                column_widths=_widths(frame),
                freeze_panes="A2",
                table_style="Table Style Light 1",
                float_precision=3,
            )


def _fitting(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows without what a cell cannot hold: longer texts, control characters, numbers that are not finite."""
    texts = selectors.string().map_elements(lambda text: clean(text)[:_LONGEST_TEXT], return_dtype=pl.String)
    numbers = selectors.float()
    empty = selectors.by_dtype(pl.Null).cast(pl.String)
    return frame.with_columns(texts, pl.when(numbers.is_finite()).then(numbers).name.keep(), empty)


def _widths(frame: pl.DataFrame) -> dict[Any, int]:
    """Columns as wide as what they hold, within reason."""
    longest = frame.select(pl.all().cast(pl.String).str.len_chars().max().fill_null(0))
    texts = {name: longest[name][0] if frame.schema[name] == pl.String else 0 for name in frame.columns}
    return {name: min(_CHARACTER * (2 + max(length, len(name))), _WIDEST) for name, length in texts.items()}


def _names(sheets: Sequence[Sheet]) -> Iterator[str]:
    """The names of the sheets, short enough, and none twice whatever its case."""
    taken: set[str] = set()
    for sheet in sheets:
        name = sheet.name[:_LONGEST_NAME]
        number = 2
        while name.lower() in taken:
            name = f"{sheet.name[: _LONGEST_NAME - 4]}_{number}"
            number += 1
        taken.add(name.lower())
        yield name
