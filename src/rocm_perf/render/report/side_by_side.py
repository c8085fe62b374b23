"""Two documents beside each other: one run per side, so differences have no confidence interval."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table

from rocm_perf.model.document import Document
from rocm_perf.render.grid import GridColumn, fitted
from rocm_perf.render.report import markdown
from rocm_perf.units import format_ns, format_share

CAVEAT = "One run per side: a single run cannot tell a difference from noise."

_Row = tuple[str, Callable[[Document], float | None], Callable[[float], str]]


def rows(before: Document, after: Document) -> list[tuple[str, str, str, str]]:
    """The rows of the table: name, before, after, and after divided by before."""
    return [_compared(row, before, after) for row in _ROWS]


def terminal(before: Document, after: Document, width: int) -> Table:
    """The comparison as a table in the terminal."""
    names, left, right, change = zip(*rows(before, after), strict=True)
    return fitted(
        [
            GridColumn("", names, numeric=False),
            GridColumn("before", left, numeric=True),
            GridColumn("after", right, numeric=True),
            GridColumn("after / before", change, numeric=True),
        ],
        width,
    )


def as_markdown(before: Document, after: Document) -> str:
    """The comparison as a Markdown page."""
    headings = ("", "before", "after", "after / before")
    return "\n".join(["# Before and after", "", *markdown.table(headings, rows(before, after)), CAVEAT, ""])


def _compared(row: _Row, before: Document, after: Document) -> tuple[str, str, str, str]:
    name, value, show = row
    left, right = value(before), value(after)
    ratio = f"{right / left:.3g}" if left and right is not None else "-"
    return name, "-" if left is None else show(left), "-" if right is None else show(right), ratio


def _count(value: float) -> str:
    return f"{value:,.0f}"


_ROWS: tuple[_Row, ...] = (
    ("wall", lambda document: document.wall_ns, format_ns),
    ("GPU busy", lambda document: document.devices[0].busy.value if document.devices else None, format_share),
    ("GPU idle", lambda document: document.devices[0].idle_ns if document.devices else None, format_ns),
    ("kernel time", lambda document: document.hotspots.total_ns, format_ns),
    ("kernels run", lambda document: document.hotspots.dispatches, _count),
    ("synchronising calls", lambda document: document.sync.total.calls, _count),
    ("time in those calls", lambda document: document.sync.total.total_ns, format_ns),
)
