"""The clocks of several ranks."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.clocks import Clocks, RankClock
from rocm_perf.render.sections.section import Columns, Section, count, explained, grids, number, text, time
from rocm_perf.units import format_count, format_ns

_COLUMNS: Columns[RankClock] = (
    number("rank", lambda row: "-" if row.rank is None else str(row.rank)),
    text("machine", lambda row: row.machine),
    explained(
        "moved by", time, lambda row: row.offset_ns, "added to its times when its first collective ended"
    ),
    number("drift, ppm", lambda row: f"{row.drift_ppm:+.2f}"),
    explained("error", time, lambda row: row.error_ns, "clocks.rows.error_ns"),
    explained("collectives", count, lambda row: row.collectives, "collectives that the error rests on"),
    text("basis", lambda row: row.basis or "-"),
)


def clocks_section(document: Document, top: int) -> Section:
    """The clock of each rank, those that could not be aligned first."""
    clocks = document.clocks
    if clocks.unavailable:
        return Section("Clocks of the ranks", unavailable=clocks.unavailable)
    worst_first = sorted(clocks.rows, key=lambda row: (row.reason is None, -(row.error_ns or 0.0)))
    return Section(
        "Clocks of the ranks", lines=clock_lines(clocks), grids=grids("", worst_first, _COLUMNS, top)
    )


def clock_lines(clocks: Clocks) -> tuple[str, ...]:
    """How far times of different ranks compare, and which do not at all."""
    together = len(clocks.rows) - clocks.apart
    if together < 2 or clocks.error_ns is None:
        first = "The clocks of the ranks could not be compared."
    else:
        ranks = format_count(together, "process", "processes")
        first = f"{ranks} on one clock, to within {format_ns(clocks.error_ns)} (95 % of the ends of their collectives)."
    return (first, *(f"{_name(row)} is not: {row.reason}." for row in clocks.rows if row.reason))


def _name(row: RankClock) -> str:
    return f"Process {row.pid}" if row.rank is None else f"Rank {row.rank}"
