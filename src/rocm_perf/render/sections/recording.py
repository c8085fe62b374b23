"""How the run was recorded: by which profiler, in how many runs, at what cost, and what could not be recorded."""

from __future__ import annotations

import shlex

from rocm_perf.model.collection import CollectionRecord, PassRecord
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.run import SIMULATOR
from rocm_perf.render.sections.section import (
    Columns,
    Item,
    Section,
    code,
    explained,
    grids,
    number,
    text,
    time,
)
from rocm_perf.units import format_count, format_ns

_ELSEWHERE = "another tool started this recording; `rocm-perf profile` keeps a record of how it was made"
_SIMULATED = "rocm-perf simulated this run: no program ran, and no profiler recorded it"
_PASS_COLUMNS: Columns[PassRecord] = (
    number("run", lambda row: str(row.number)),
    text("for", lambda row: row.purpose),
    text("profiler", lambda row: row.profiler),
    text("outcome", lambda row: row.outcome),
    explained(
        "wall",
        time,
        lambda row: row.wall_ns,
        "from the start of the program to its end, as rocm-perf timed it",
    ),
    number("ended", lambda row: ended(row.exit_status)),
    code("command", lambda row: shlex.join(row.argv)),
)


def recording_section(document: Document, top: int) -> Section:
    """Every run of the program, and what was asked for but is missing."""
    record = document.run.collection
    if record is None:
        return Section("Recording", unavailable=_SIMULATED if document.run.tool == SIMULATOR else _ELSEWHERE)
    failed = tuple(
        Item(f"run {run.number}, {run.profiler}: {run.outcome}", (run.explanation,), "warning")
        for run in record.passes
        if run.explanation
    )
    missing = tuple(Item(line, severity="warning") for line in record.could_not)
    return Section(
        "Recording",
        lines=(recorded_line(record, document.overhead), record.why, *record.notices),
        items=(*missing, *failed),
        grids=grids("", record.passes, _PASS_COLUMNS, top),
    )


def recorded_line(record: CollectionRecord, overhead: Quantity) -> str:
    """Which profiler recorded what, in how many runs, and at what cost."""
    if not record.profiled:
        return _wall_line(record)
    had = _had(record)
    asked = f" {', '.join(had)};" if had else ""
    runs = [run for run in record.passes if run.outcome != "not run"]
    times = format_count(len(runs), "run")
    window = f" {record.window.sentence};" if record.window else ""
    return f"{record.profiler}:{asked}{window} {times} of the program; {overhead_text(overhead)}"


def _had(record: CollectionRecord) -> tuple[str, ...]:
    """What was asked for, without what the record says could not be recorded."""
    done = {run.purpose for run in record.passes if run.outcome in ("recorded", "partly")}
    lost = [line.partition(":")[0].removesuffix(" trace") for line in record.could_not]
    return tuple(name for name in record.asked if name in done or name not in lost)


def _wall_line(record: CollectionRecord) -> str:
    """The program's own wall times, where no profiler slowed it down."""
    walls = [run.wall_ns for run in record.passes if not run.profiled and run.wall_ns is not None]
    times = ", ".join(format_ns(wall) for wall in walls) or "not known"
    return f"wall time of the program, without a profiler: {times}"


def overhead_text(overhead: Quantity) -> str:
    """What profiling cost; it goes with every duration, because a profiled program takes longer."""
    if overhead.value is None:
        return "times include the profiler's cost, which was not measured (--measure-overhead)"
    doubt = f" ({overhead.doubt})" if overhead.doubt else ""
    return f"it takes {overhead.value:.2f}x as long under the profiler{doubt}"


def ended(status: int | None) -> str:
    """An exit code, or the signal that ended it."""
    if status is None:
        return "-"
    return f"signal {-status}" if status < 0 else str(status)
