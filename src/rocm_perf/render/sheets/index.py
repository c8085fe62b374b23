"""Every sheet of a document, the first of which says what the others hold."""

from __future__ import annotations

from typing import NamedTuple

from rocm_perf.model.document import Document
from rocm_perf.render.sheets.kernels import gpu_timeline, kernel_roofline, kernel_sheets
from rocm_perf.render.sheets.memory import memory_sheets
from rocm_perf.render.sheets.operators import operator_sheets
from rocm_perf.render.sheets.sheet import Sheet, SheetColumns, sheet

MOST_ROWS = 1_048_575  # of a sheet of Excel, below its heading


class _Line(NamedTuple):
    name: str
    holds: str
    rows: int | None = None
    note: str = ""


_ABOUT: SheetColumns[_Line] = {
    "sheet": lambda line: line.name,
    "one row is": lambda line: line.holds,
    "rows": lambda line: line.rows,
    "note": lambda line: line.note,
}


def sheets(document: Document) -> list[Sheet]:
    """The sheets that have rows, with one in front that says what each holds, and why others are missing."""
    described = [
        gpu_timeline(document),
        *operator_sheets(document),
        *kernel_sheets(document),
        kernel_roofline(document),
        *memory_sheets(document),
    ]
    kept = [_bounded(each) for each in described if each.frame.height]
    return [_about(document, described), *kept]


def _bounded(full: Sheet) -> Sheet:
    return Sheet(full.name, full.holds, full.frame.head(MOST_ROWS))


def _about(document: Document, described: list[Sheet]) -> Sheet:
    part = "the steady state of the recording" if document.steady else "the whole recording"
    head = [
        _Line("", f"{document.label}: {part}", note=document.producer),
        _Line(
            "",
            "times are in the unit of their heading; GFLOPS 10^9 operations, MB 10^6 bytes, TB 10^12 bytes",
        ),
    ]
    lines = [_line(each) for each in described]
    return sheet("about", "one sheet", [*head, *lines], _ABOUT)


def _line(described: Sheet) -> _Line:
    rows = described.frame.height
    if not rows:
        return _Line(described.name, described.holds, 0, f"left out: {described.missing}")
    cut = f"the first {MOST_ROWS:,} only: a sheet holds no more" if rows > MOST_ROWS else ""
    return _Line(described.name, described.holds, rows, cut)
