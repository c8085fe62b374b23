"""How the run was recorded: with what, how often the program ran, what that cost, and what could not be recorded."""

from __future__ import annotations

import shlex

from rocm_perf.model.collection import CollectionRecord, PassRecord
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.render.sections.section import Columns, Item, Section, code, grids, number, text, time
from rocm_perf.units import format_count, format_ns

_ELSEWHERE = "another tool started this recording; `rocm-perf profile` keeps a record of how it was made"
_PASS_COLUMNS: Columns[PassRecord] = (
    number("run", lambda row: str(row.number)),
    text("for", lambda row: row.purpose),
    text("profiler", lambda row: row.profiler),
    text("outcome", lambda row: row.outcome),
    number("wall", lambda row: time(row.wall_ns)),
    number("ended", lambda row: ended(row.exit_status)),
    code("command", lambda row: shlex.join(row.argv)),
)


def recording_section(document: Document, top: int) -> Section:
    """Every run of the program, and what was asked for and is missing."""
    record = document.run.collection
    if record is None:
        return Section("Recording", unavailable=_ELSEWHERE)
    failed = tuple(
        Item(f"run {run.number}, {run.profiler}: {run.outcome}", (run.explanation,), "warning")
        for run in record.passes
        if run.explanation
    )
    missing = tuple(Item(line, severity="warning") for line in record.could_not)
    return Section(
        "Recording",
        lines=(recorded_words(record, document.overhead), record.why, *record.notices),
        items=(*missing, *failed),
        grids=grids("", record.passes, _PASS_COLUMNS, top),
    )


def recorded_words(record: CollectionRecord, overhead: Quantity) -> str:
    """With what, how often, at which cost."""
    if not record.profiled:
        return _wall_words(record)
    asked = f" {', '.join(record.asked)};" if record.asked else ""
    runs = [run for run in record.passes if run.outcome != "not run"]
    times = format_count(len(runs), "run")
    return f"{record.profiler}:{asked} {times} of the program; {overhead_words(overhead)}"


def _wall_words(record: CollectionRecord) -> str:
    """Without a profiler: the program's own time, which nothing made longer."""
    walls = [run.wall_ns for run in record.passes if not run.profiled and run.wall_ns is not None]
    times = ", ".join(format_ns(wall) for wall in walls) or "not known"
    return f"wall time of the program, without a profiler: {times}"


def overhead_words(overhead: Quantity) -> str:
    """Never a duration without this: what is recorded took longer than it takes alone."""
    if overhead.value is None:
        return "times include the profiler's cost, not measured (--measure-overhead)"
    doubt = f" ({overhead.doubt})" if overhead.doubt else ""
    return f"the profiler makes the program {overhead.value:.2f}x as long{doubt}"


def ended(status: int | None) -> str:
    """An exit code, or the signal that ended it."""
    if status is None:
        return "-"
    return f"signal {-status}" if status < 0 else str(status)
