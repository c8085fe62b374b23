"""What a section consists of, and the formatting that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Severity
from rocm_perf.model.quantity import Quantity
from rocm_perf.render.drawings.characters import UNICODE
from rocm_perf.render.grid import GridColumn, Value
from rocm_perf.render.kernel_names import told_apart
from rocm_perf.render.use_bars import CELLS, UseBar, bar_text
from rocm_perf.units import format_bytes, format_ns, format_share

Row = TypeVar("Row")
Written = TypeVar("Written", bound=Value)
_BLOCKS = "▁▂▃▄▅▆▇█"
_TOLD_APART = 20  # kernels that a list may have side by side
_LEAST = 0.001  # smaller numbers are shown as "<0.001"


@dataclass(frozen=True)
class Grid:
    """A table."""

    columns: tuple[GridColumn, ...]
    title: str = ""
    left_out: int = 0  # rows that are not listed


@dataclass(frozen=True)
class Item:
    """Something that needs a paragraph: a finding, a projection."""

    title: str
    details: tuple[str, ...] = ()
    severity: Severity | None = None
    command: str = ""
    facts: tuple[tuple[str, str], ...] = ()  # texts behind a word: worth, why, do


@dataclass(frozen=True)
class Section:
    """One answer. Where there is none, `unavailable` says why and the rest is empty."""

    title: str
    lines: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    unavailable: str | None = None
    parts: tuple[Section, ...] = ()  # answers of the same kind, such as one for each kernel


# From a document, and how many rows a list may have.
Describe = Callable[[Document, int], Section]


@dataclass(frozen=True)
class Column(Generic[Row]):
    """How one cell of a row is written."""

    heading: str
    cell: Callable[[Row], str]
    numeric: bool = False
    code: bool = False
    value: Callable[[Row], Value] | None = None  # what the cell is written from
    formula: str = ""  # how the value is made: the name of a formula of the Document, or in words
    whole: Callable[[Row], str] | None = None  # an identifier in full, where the cell is shorter
    legend: str = ""  # what the column shows, where its heading alone does not say it
    bar: Callable[[Row], UseBar | None] | None = None  # what is drawn in the place of the text


Columns = Sequence[Column[Row]]


def number(heading: str, cell: Callable[[Row], str]) -> Column[Row]:
    """A column of numbers, which are never cut."""
    return Column(heading, cell, numeric=True)


def explained(
    heading: str,
    write: Callable[[Written], str],
    value: Callable[[Row], Written],
    formula: str = "",
    *,
    legend: str = "",
) -> Column[Row]:
    """A column of numbers that say how they were made. A Quantity brings its own formula."""
    return Column(
        heading, lambda row: write(value(row)), numeric=True, value=value, formula=formula, legend=legend
    )


def text(heading: str, cell: Callable[[Row], str], *, legend: str = "") -> Column[Row]:
    """A column of text, cut at the end where it is too long."""
    return Column(heading, cell, legend=legend)


def bars(heading: str, bar: Callable[[Row], UseBar | None]) -> Column[Row]:
    """A column of bars; in texts they have a fixed number of characters."""
    return Column(heading, lambda row: bar_text(bar(row), CELLS, UNICODE).plain, bar=bar)


def code(heading: str, cell: Callable[[Row], str], whole: Callable[[Row], str] | None = None) -> Column[Row]:
    """A column of identifiers, cut in the middle where they are too long; `whole` gives them in full."""
    return Column(heading, cell, code=True, whole=whole)


def grids(
    title: str, rows: Sequence[Row], columns: Columns[Row], most: int | None = None
) -> tuple[Grid, ...]:
    """A table of the first rows, or none where there are no rows. A column without any value is left out."""
    shown = rows[:most]
    if not shown:
        return ()
    written = [
        GridColumn(
            heading=column.heading,
            cells=[column.cell(row) for row in shown],
            numeric=column.numeric,
            code=column.code,
            values=[column.value(row) for row in shown] if column.value else (),
            wholes=[column.whole(row) for row in shown] if column.whole else (),
            formula=column.formula,
            legend=column.legend,
            bars=[column.bar(row) for row in shown] if column.bar else (),
        )
        for column in columns
    ]
    filled = tuple(
        column for column in written if column.bars or any(cell not in ("", "-") for cell in column.cells)
    )
    return (Grid(filled, title, len(rows) - len(shown)),)


def legend(grid: Grid) -> str:
    """What the columns of a table show, where their headings alone do not say it."""
    return "; ".join(f"{column.heading}: {column.legend}" for column in grid.columns if column.legend)


def finding_item(finding: Finding) -> Item:
    """A finding in full: what is at stake, its evidence and its remedy."""
    stake = worth(finding)
    details = (
        *((stake,) if stake else ()),
        *finding.evidence,
        *((finding.remedy,) if finding.remedy else ()),
    )
    return Item(finding.title, details, severity=finding.severity, command=finding.next_command)


def worth(finding: Finding) -> str:
    """Time at stake and projected speedup, marked where the formula gives only a bound."""
    stake = finding.time_at_stake_ns
    parts = [f"{format_ns(stake)} at stake"] if stake else []
    gain = finding.projected_speedup
    if gain is not None and gain.value is not None:
        word = "at most" if "at most" in gain.formula else "projected"
        parts.append(f"{word} {gain.value:.2f}x")
    return ", ".join(parts)


def short_names(document: Document) -> Callable[[str], str]:
    """A function from a kernel's name to the short one in the table of kernels."""
    rows = document.hotspots.rows
    known = {spot.kernel: spot.short_name for spot in rows} | told_apart(rows[:_TOLD_APART])
    return lambda kernel: known.get(kernel, kernel)


def known(number: int | None) -> str:
    """The number of a GPU, queue or stream, or a question mark."""
    return "?" if number is None else str(number)


def time(value: float | Quantity | None) -> str:
    """A duration in nanoseconds with its unit, with a question mark where it is doubtful, or a dash."""
    if isinstance(value, Quantity):
        return time(value.value) + _mark(value)
    return "-" if value is None else format_ns(value)


def _mark(number: Quantity) -> str:
    """What stands behind a number that is doubtful."""
    return "?" if number.known and number.doubt else ""


def span(start_ns: int, end_ns: int) -> Quantity:
    """A duration that says from when to when."""
    inputs = {"end_ns": end_ns, "start_ns": start_ns}
    return Quantity(end_ns - start_ns, "ns", formula="end_ns - start_ns", inputs=inputs)


def size(value: float | None) -> str:
    """A number of bytes with its unit, or a dash."""
    return "-" if value is None else format_bytes(value)


def count(value: float | None) -> str:
    """A whole number, or a dash."""
    return "-" if value is None else f"{value:,.0f}"


def share(value: float | Quantity | None) -> str:
    """A share in percent, with a question mark where it is doubtful, or a dash."""
    if isinstance(value, Quantity):
        return share(value.value) + _mark(value)
    return "-" if value is None else format_share(value)


def rate(value: float | Quantity | None) -> str:
    """A number without its unit, to three digits; a question mark where it is doubtful, or a dash."""
    if isinstance(value, Quantity):
        return rate(value.value) + _mark(value)
    if value is None:
        return "-"
    if 0 < value < _LEAST:
        return f"<{_LEAST}"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def doubts(quantities: Iterable[Quantity]) -> tuple[str, ...]:
    """What the question marks behind numbers mean."""
    return tuple(dict.fromkeys(f"? {quantity.doubt}" for quantity in quantities if quantity.doubt))


def spark(values: Sequence[float], width: int = 60) -> str:
    """A series as one line of blocks: the highest value of each stretch, relative to the highest of all."""
    if not values or max(values) <= 0:
        return ""
    width = min(width, len(values))
    edges = [len(values) * place // width for place in range(width + 1)]
    tops = [max(values[start:end]) for start, end in pairwise(edges)]
    highest = max(tops)
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * max(top, 0) / highest)] for top in tops)
