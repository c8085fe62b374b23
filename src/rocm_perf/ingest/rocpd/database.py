"""rocpd, the SQLite database that rocprofv3 (and rocprof-sys) writes from ROCm 7.0 on, schema 3.0.x.

A file holds one process, or several that were merged. What a release lacks is determined from its tables and columns,
never from its version, which stayed 3. API calls and GPU work share a stack id: that
is our correlation id.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.io.sqlite import Outline, open_database
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocpd import info as rocpd_info
from rocm_perf.ingest.rocpd import samples as rocpd_samples
from rocm_perf.ingest.rocpd.tables import MAIN_TABLE, Lookup, Run, extdata, runs_of
from rocm_perf.ingest.survey import Survey
from rocm_perf.model.run import Loss
from rocm_perf.model.time_window import WHOLE, Span

_AXES = tuple((size, axis) for size in ("grid", "workgroup") for axis in "xyz")
_SPAN = ("pid", "tid", "start", "end", "event_id")
_DISPATCH = (
    *(*_SPAN, "agent_id", "kernel_id", "dispatch_id", "queue_id", "stream_id", "graph_exec_id"),
    *("private_segment_size", "group_segment_size", *(f"{size}_size_{axis}" for size, axis in _AXES)),
)
_REGION = (*_SPAN, "name_id")
_COPY = (*_SPAN, "name_id", "dst_agent_id", "src_agent_id", "size", "queue_id", "stream_id")
_ALLOCATION = (*_SPAN, "agent_id", "address", "size", "queue_id", "stream_id")

_LARGE = {
    "kernel_dispatch": "dispatches",
    "region": "api_calls",
    "memory_copy": "copies",
    "memory_allocate": "allocations",
}

Tables = dict[str, pl.DataFrame]


def read(source: Source, span: Span = WHOLE) -> Part:
    """The tables of every process in the file, or what of them starts in the span."""
    with open_database(source) as database:
        runs = runs_of(database, span)
        if not runs:
            raise InputError(
                f"{source.name} holds no process",
                "its tables disappeared while it was being read",
                "Read it again once nothing writes to it.",
            )
        info = rocpd_info.tables(runs)
        facts = rocpd_info.facts(runs)
        recorded = _merged([_recorded(run) for run in runs], rocpd_info.node_numbers(runs))
    losses = [loss for run in runs for loss in run.losses]
    if not recorded:
        _refuse(source, losses)
    return part("rocprofv3", {**info, **recorded}, losses, clock="boot", **facts)


def survey(source: Source) -> Survey:
    """The rows of the large tables by their largest id, and the time they cover by a few of their rows."""
    total = Survey(in_part=True)
    with open_database(source) as database:
        for run in runs_of(database):
            for table, name in _LARGE.items():
                if run.has_column(table, "start") and run.has_column(table, "end"):
                    outline = database.outline(f"rocpd_{table}{run.suffix}", "id", "start", "end")
                    total += _surveyed(name, outline)
    return total


def _surveyed(name: str, outline: Outline) -> Survey:
    times = [time for row in outline.edges for time in row if time]
    return Survey(
        rows={name: outline.rows},
        first_ns=min(times, default=None),
        last_ns=max(times, default=None),
        moments=tuple(sorted(start for start, _ in outline.sampled if start)),
        in_part=True,
    )


def _merged(processes: list[Tables], nodes: list[int]) -> Tables:
    numbered = [
        {name: table.with_columns(node=pl.lit(node, pl.Int32)) for name, table in tables.items()}
        for tables, node in zip(processes, nodes, strict=True)
    ]
    names = dict.fromkeys(name for tables in processes for name in tables)
    return {
        name: pl.concat([tables[name] for tables in numbered if name in tables], how="diagonal")
        for name in names
    }


def _refuse(source: Source, losses: list[Loss]) -> NoReturn:
    if losses:
        why = "; ".join(loss.what for loss in losses[:3])
        raise InputError(
            f"{source.name} is a rocpd database, but it cannot be read",
            why,
            "`rocpd convert -f csv` of its ROCm release may read it.",
        )
    raise EmptyCaptureError(
        f"{source.name} is a rocpd database without any record",
        "the profiler ran, but saw no kernel and no call",
        "Check that the program used the GPU, and what rocprofv3 was asked to trace.",
    )


def _recorded(run: Run) -> Tables:
    """The tables of one process that have rows."""
    with ThreadPoolExecutor(2) as pool:  # one query keeps one core busy
        dispatched = pool.submit(run.timed, "kernel_dispatch", _DISPATCH)
        happened = pool.submit(run.events)
        called = pool.submit(run.timed, "region", _REGION)
    events = happened.result()
    dispatches = _dispatches(run, dispatched.result(), events)
    launched = dispatches.select("dispatch_id", "agent_id", "pid").with_columns(
        dispatched.result()["event_id"]
    )
    calls, ranges = _calls(run, called.result(), events)
    values = rocpd_samples.values_of(run)
    marks, instant_calls, samples = rocpd_samples.instants(run, values, events)
    allocations, scratch = _allocations(run, events)
    tables = {
        "dispatches": dispatches,
        "api_calls": pl.concat([calls, instant_calls], how="diagonal"),
        "ranges": pl.concat([ranges, marks], how="diagonal"),
        "copies": _copies(run, events),
        "allocations": allocations,
        "scratch": scratch,
        "counters": rocpd_samples.counters(values, launched),
        "samples": samples,
        "pc_samples": rocpd_samples.pc_samples(run),
    }
    return {name: table for name, table in tables.items() if table.height}


def _dispatches(run: Run, raw: pl.DataFrame, events: Lookup) -> pl.DataFrame:
    graph = pl.col("graph_exec_id")
    columns = raw.select(
        "kernel_id",
        "dispatch_id",
        "queue_id",
        "stream_id",
        pl.when(graph != 0).then(graph).alias("graph_id"),
        pl.col("group_segment_size").alias("lds_bytes"),
        pl.col("private_segment_size").alias("scratch_bytes"),
        *(pl.col(f"{size}_size_{axis}").alias(f"{size}_{axis}") for size, axis in _AXES),
        run.agent(raw["agent_id"]),
    )
    symbol = run.symbols.get(raw["kernel_id"], "kernel", "vgprs", "agprs", "sgprs")
    dispatches = columns.hstack(symbol).hstack(run.span(raw, events))
    return _named(run, dispatches).drop("kernel_id")


def _named(run: Run, dispatches: pl.DataFrame) -> pl.DataFrame:
    """The dispatches, with a number in place of each lost kernel name."""
    nameless = dispatches["kernel"].null_count()
    if not nameless:
        return dispatches
    run.lose("names of kernels that were dispatched", nameless)
    number = pl.format("kernel {} (name not recorded)", pl.col("kernel_id").fill_null(-1))
    return dispatches.with_columns(pl.coalesce("kernel", number).alias("kernel"))


def _calls(run: Run, raw: pl.DataFrame, events: Lookup) -> tuple[pl.DataFrame, pl.DataFrame]:
    """API calls, and the program's ranges, whose names are stored with the event."""
    category = events.column(raw["event_id"], "category_id")
    calls = run.span(raw, events).with_columns(
        run.strings.column(raw["name_id"], "string").alias("name"),
        run.strings.column(category, "domain").fill_null("unknown").alias("domain"),
    )
    marked = category.is_in(run.marker_categories).fill_null(False)
    ranges = calls.filter(marked).drop("domain").with_columns(source=pl.lit("roctx"))
    messages = (
        run.messages.column(raw["event_id"].filter(marked), "message") if marked.any() else ranges["name"]
    )
    ranges = ranges.with_columns(pl.coalesce(messages, "name").alias("name"))
    calls = calls.filter(~marked) if marked.any() else calls
    nameless = calls["name"].null_count() + ranges["name"].null_count()
    if nameless:
        run.lose("API calls whose names are not in the file", nameless)
    return calls.drop_nulls("name"), ranges.drop_nulls("name")


def _copies(run: Run, events: Lookup) -> pl.DataFrame:
    raw = run.timed("memory_copy", _COPY)
    copies = run.span(raw, events).with_columns(
        domains.copy_kind(pl.lit(run.strings.column(raw["name_id"], "string"))).alias("kind"),
        raw["size"].alias("size_bytes"),
        raw["queue_id"],
        raw["stream_id"],
        run.agent(raw["src_agent_id"]).alias("src_agent"),
        run.agent(raw["dst_agent_id"]).alias("dst_agent"),
    )
    return copies.with_columns(domains.copying_agent())


def _allocations(run: Run, events: Lookup) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Allocations of memory, and those of scratch memory that the runtime made."""
    raw = run.timed("memory_allocate", _ALLOCATION, ("type", "level", "extdata"))
    rows = run.span(raw, events).with_columns(
        domains.allocation_operation(pl.lit(raw["type"])).alias("operation"),
        raw["level"],
        raw["extdata"],
        raw["address"].reinterpret(signed=False),
        raw["size"].alias("size_bytes"),
        raw["queue_id"],
        raw["stream_id"],
        run.agent(raw["agent_id"]),
    )
    unknown = rows["operation"].null_count()
    if unknown:
        run.lose("allocations without an operation", unknown)
    rows = rows.drop_nulls("operation")
    scratch = rows.filter(pl.col("level") == "SCRATCH")
    flags = pl.Series("flags", [extdata(text).flags for text in scratch["extdata"]], dtype=pl.String)
    others = rows.filter(pl.col("level").ne_missing("SCRATCH")).drop("extdata")
    return others, scratch.drop("level", "address", "extdata").with_columns(flags)


def _claims(peek: Peek) -> bool:
    return any(table.startswith(MAIN_TABLE) for table in peek.sqlite_tables)


ADAPTERS = (
    Adapter(
        name="rocpd",
        title="rocprofv3 rocpd database (results.db)",
        recognised_by=f"SQLite tables {MAIN_TABLE}*",
        claims=_claims,
        read=read,
        survey=survey,
        read_span=read,
    ),
)
