"""The Chrome JSON that jax.profiler writes beside an XPlane file (`trace.json.gz`, `perfetto_trace.json.gz`): the same
planes as processes, lines as threads and statistics as arguments, without compiled programs and without a date."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.chrome.events import Events, argument, event_array, read_pieces, whole, with_nanoseconds
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.xplane.operations import Programs
from rocm_perf.ingest.xplane.planes import COLUMN, SCHEMA, STATISTICS, Line, Plane
from rocm_perf.ingest.xplane.space import TOOL
from rocm_perf.ingest.xplane.tables import tables_of
from rocm_perf.model.run import Loss

_PLANE = re.compile(r'"name"\s*:\s*"/(host|device):')
_NAMES = ("process_name", "thread_name")


def read_trace(source: Source) -> Part:
    """All tables of the file."""
    pieces, losses = read_pieces(event_array(source), source.name, _sorted_out)
    names = pl.concat([named for named, _ in pieces])
    events = pl.concat([spans for _, spans in pieces])
    usable = events.filter(pl.col("start_ns").is_not_null(), pl.col("end_ns") >= pl.col("start_ns"))
    if lost := events.height - usable.height:
        losses.append(Loss(source.name, "events without a time or a duration", lost))
    tables = tables_of(_planes(names, usable), Programs({}), None)
    if not any(table.height for table in tables.values()):
        raise EmptyCaptureError(f"{source.name} holds no events", "no event in it has a begin and an end")
    return part(TOOL, tables, losses, clock="relative")


def _sorted_out(piece: Events) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The names of processes and threads, and the events with their statistics."""
    named = piece.frame.filter((pl.col("ph") == "M") & pl.col("name").is_in(_NAMES))
    names = named.select("name", "pid", "tid", argument(piece.arguments(named["row"]), "name").alias("says"))
    spans = with_nanoseconds(piece.frame.filter(pl.col("ph") == "X"), "ts", "dur")
    args = piece.arguments(spans["row"])
    told = [
        argument(args, name).cast(dtype, strict=False).alias(COLUMN.get(name, name))
        for name, dtype in STATISTICS.items()
    ]
    return names, spans.select(
        "pid",
        "tid",
        pl.col("name").alias("event"),
        pl.col("ts").alias("start_ns"),
        (pl.col("ts") + pl.col("dur")).alias("end_ns"),
        pl.lit(None, pl.Int64).alias("occurrences"),
    ).with_columns(told)


def _planes(names: pl.DataFrame, events: pl.DataFrame) -> list[Plane]:
    processes = dict(names.filter(pl.col("name") == _NAMES[0]).select("pid", "says").iter_rows())
    threads = {
        (pid, tid): says
        for pid, tid, says in names.filter(pl.col("name") == _NAMES[1])
        .select("pid", "tid", "says")
        .iter_rows()
    }
    lines: dict[str | None, list[Line]] = {}
    numbered = events.with_columns(whole("tid").fill_null(0).alias("number"))
    for (pid, tid, number), members in numbered.group_by("pid", "tid", "number", maintain_order=True):
        name = threads.get((pid, tid)) or ""
        lines.setdefault(pid, []).append(Line(number, name, members.select(*SCHEMA)))
    return [Plane(processes.get(pid) or "", tuple(members)) for pid, members in lines.items()]


def claims(peek: Peek) -> bool:
    """Whether its events name processes as XPlane files name their planes."""
    return peek.json_kind == "object" and "traceEvents" in peek.json_keys and bool(_PLANE.search(peek.text))


ADAPTERS = (
    Adapter(
        name="jax-chrome-json",
        title="Chrome JSON of jax.profiler (or TensorFlow's): trace.json.gz",
        recognised_by="JSON with traceEvents whose processes are named /host:... or /device:...",
        claims=claims,
        read=read_trace,
        view_of="xplane",
        fills=("dispatches", "copies", "api_calls", "ops", "ranges", "allocations", "samples", "agents"),
    ),
)
