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


# What TraceLens means by the same heading is something else, so ours say what they mean.
_LAUNCHED = "kernels, copies and fills"
_ANY_CALL = "also calls that launched nothing"
_OF_OPERATORS = {
    "Count": _ANY_CALL,
    "operation_count": _ANY_CALL,
    "total_direct_kernel_time_ms": _LAUNCHED,
    "total_direct_kernel_time_sum (us)": _LAUNCHED,
    "total_direct_kernel_time_mean (us)": f"{_LAUNCHED}, over all calls",
    "total_subtree_kernel_time_ms": _LAUNCHED,
    "backward_kernel_time_ms": _LAUNCHED,
    "kernel_time_ms": _LAUNCHED,
    "Kernel Time (us)_sum": f"{_LAUNCHED} of everything inside the calls",
    "Kernel Time (us)_mean": f"{_LAUNCHED} of everything inside a call",
}
_OF_OPERATOR_SHEETS = ("op category", "module")  # one of their columns
_IN_THE_WINDOW = ("time ms", "Count", "operation_count")

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
    kept = [_explained(_bounded(each), _part(document)) for each in described if each.frame.height]
    return [_about(document, described), *kept]


def _bounded(full: Sheet) -> Sheet:
    return Sheet(full.name, full.holds, full.frame.head(MOST_ROWS))


def _explained(plain: Sheet, part: str) -> Sheet:
    """Return the sheet with headings that say, in brackets, what is counted and of which part of the recording."""
    columns = plain.frame.columns
    meant = _OF_OPERATORS if any(name in columns for name in _OF_OPERATOR_SHEETS) else {}
    remarks = {
        name: "; ".join(text for text in (meant.get(name), part if name in _IN_THE_WINDOW else None) if text)
        for name in columns
    }
    if plain.name == "gpu_timeline":
        remarks["percent"] = "of total_time"
    renamed = {name: f"{name} [{remark}]" for name, remark in remarks.items() if remark}
    return Sheet(plain.name, plain.holds, plain.frame.rename(renamed))


def _part(document: Document) -> str:
    return "the steady state of the recording" if document.steady else "the whole recording"


def _about(document: Document, described: list[Sheet]) -> Sheet:
    head = [
        _Line("", f"{document.label}: {_part(document)}", note=document.producer),
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
