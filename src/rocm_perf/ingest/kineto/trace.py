"""torch.profiler (Kineto) traces, from 2021 to now, of the roctracer, rocprofiler-sdk and CUPTI backends.

The category of an event decides whether it is GPU work. Kernels whose launch is outside the recorded window are kept
without one. Times are exact: microseconds with three decimals become integer nanoseconds.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from msgspec.structs import replace

from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.collector import collector_off
from rocm_perf.ingest.io.json import EventArray, nothing_read
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto import agents as kineto_agents
from rocm_perf.ingest.kineto.captured import captured
from rocm_perf.ingest.kineto.collectives import collective_calls, collectives
from rocm_perf.ingest.kineto.columns import Columns, timed
from rocm_perf.ingest.kineto.compiled import with_compiled
from rocm_perf.ingest.kineto.dispatches import dispatches, launched_in_work_items, sized, with_lds_of_calls
from rocm_perf.ingest.kineto.fields import CATEGORIES
from rocm_perf.ingest.kineto.header import Header, around
from rocm_perf.ingest.kineto.links import links
from rocm_perf.ingest.kineto.memory import memory
from rocm_perf.ingest.kineto.outline import outlined, survey
from rocm_perf.ingest.kineto.owners import Owners, owners_of
from rocm_perf.ingest.kineto.pairing import paired
from rocm_perf.ingest.kineto.ranges import profiler_ranges
from rocm_perf.ingest.kineto.types import piece_decoder
from rocm_perf.ingest.kineto.window import EventWindow
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model import schema
from rocm_perf.model.range_sources import ACCELERATOR
from rocm_perf.model.run import Loss, Numbering
from rocm_perf.model.time_window import WHOLE, Span, within
from rocm_perf.units import format_count

_KEYS = frozenset(
    {
        "schemaVersion",
        "deviceProperties",
        "distributedInfo",
        "roctracer_version",
        "cupti_version",
        "record_shapes",
    }
)
_ON_HOST = ("api_calls", "ops", "ranges", "collective_calls")
_MARKS = tuple(f'"cat": "{category}"' for category in CATEGORIES)


def claims(peek: Peek) -> bool:
    """Kineto's own keys, or an event list with its categories and `External id`s."""
    if peek.json_kind != "object":
        return False
    keys = set(peek.json_keys)
    if "traceEvents" in keys and keys & _KEYS:
        return True
    text = peek.text.replace('":"', '": "')
    return bool(keys & _KEYS and "deviceProperties" in keys) or (
        "traceEvents" in keys and "External id" in text and any(mark in text for mark in _MARKS)
    )


def read(source: Source, span: Span = WHOLE) -> Part:
    """The trace, or what of it starts in a span, piece by piece."""
    trace = gather(source, span)
    header = trace.header
    notices = [f"the GPU side was recorded by {header.backend}"] if header.backend else []
    return _cut(
        span,
        part(
            "torch.profiler",
            trace.tables,
            trace.losses,
            tool_version=None if header.schema_version is None else f"schema {header.schema_version}",
            rank=header.distributed.rank if header.distributed else None,
            world_size=header.distributed.world_size if header.distributed else None,
            clock="epoch" if header.base_ns is not None else "unknown",
            notices=(*notices, *trace.notices),
            software=header.software,
            numbering=trace.numbering,
        ),
    )


def _cut(span: Span, whole: Part) -> Part:
    tables = {name: within(name, frame, span) for name, frame in whole.tables.items()}
    return replace(whole, tables={name: frame for name, frame in tables.items() if frame.height})


class Gathered(NamedTuple):
    """A trace in Kineto's layout, whatever tool wrote it."""

    tables: dict[str, pl.DataFrame]
    header: Header
    losses: list[Loss]
    notices: list[str]
    numbering: Numbering | None = None


def gather(source: Source, span: Span = WHOLE) -> Gathered:
    """Every event of the file, or of a span, as tables."""
    with collector_off():
        collected = _collect(source, span, exact=False)
        if collected.columns.too_long_for_float:
            collected = _collect(source, span, exact=True)
    columns, header = collected.columns, collected.header
    tables, notices = _tables(columns, header)
    notices += [f"{label} is neither a GPU of AMD nor of NVIDIA" for label in columns.accelerators.values()]
    if columns.profiler_ranges:
        tables |= profiler_ranges(source, header)
    if not any(frame.height for frame in tables.values()):
        raise _nothing_read(source, span, collected)
    return Gathered(tables, header, _losses(source, collected), notices, columns.numbering)


class _Collected(NamedTuple):
    """What was read of a file, why not all of it, and how many of its events are of another form."""

    columns: Columns
    header: Header
    damage: str | None
    skipped: int


def _nothing_read(source: Source, span: Span, collected: _Collected) -> RocmPerfError:
    if span == WHOLE and collected.skipped and not collected.damage:
        odd = f"{format_count(collected.skipped, 'event')} in it not of the form that Kineto writes, and no other"
        step = "Take the file as the profiler wrote it, or record again."
        return InputError(f"{source.name} cannot be read as a trace", odd, step)
    damage = collected.damage if span == WHOLE else None  # a part may hold nothing of a file that is cut
    return nothing_read(
        source.name, damage, "the profiler window was empty", "Check the profiler's schedule."
    )


def _losses(source: Source, collected: _Collected) -> list[Loss]:
    losses = [Loss(source.name, collected.damage)] if collected.damage else []
    if collected.skipped:
        losses.append(Loss(source.name, "events that are not of the form Kineto writes", collected.skipped))
    return losses


def _collect(source: Source, span: Span, *, exact: bool) -> _Collected:
    decode, skipped = piece_decoder(exact)
    array = EventArray(source, "traceEvents", decode)
    columns = Columns(exact, None if span == WHOLE else EventWindow(span, outlined(source).base_ns))
    for events in array:
        columns.add(events)
    header = around(array.prefix, array.suffix, source.name)
    return _Collected(columns, header, array.damage, skipped[0])


def _tables(columns: Columns, header: Header) -> tuple[dict[str, pl.DataFrame], list[str]]:
    base = header.base_ns or 0
    calls, kernels, copies = paired(
        *(timed(columns.frame(name), base) for name in ("runtime", "kernel", "copy"))
    )
    owners = owners_of(calls, columns.rank_of_process)
    api_calls = _api_calls(calls)
    notices: list[str] = []
    in_work_items = launched_in_work_items(calls)
    kernels = with_lds_of_calls(kernels, columns.frame("launch_lds"))
    kernel_rows, swapped = dispatches(kernels, in_work_items, columns, owners, header)
    if swapped:
        notices.append("this backend writes the workgroup as `grid` and the work-items as `block`: corrected")
    launches = columns.frame("launch").drop("start_ns", "dur", strict=False)
    annotations = timed(columns.frame("range"), base)
    ops = _ops(columns, base)
    tables = {
        "dispatches": kernel_rows,
        "collectives": owners.of_gpu(collectives(kernels)) if kernels.height else kernels,
        "copies": _copies(copies, owners),
        "api_calls": api_calls,
        "ops": ops,
        "ranges": _ranges(columns, annotations, base, owners),
        "collective_calls": pl.concat([collective_calls(ops), collective_calls(annotations)], how="diagonal"),
        "links": links(columns, base),
        **captured(calls, sized(launches, in_work_items), kernels),
        **memory(timed(columns.frame("memory"), base)),
    }
    tables |= {name: owners.of_host(tables[name]) for name in _ON_HOST}
    tables["agents"] = kineto_agents.agents(tables["dispatches"], header)
    return tables, notices


def _api_calls(calls: pl.DataFrame) -> pl.DataFrame:
    if not calls.height:
        return calls
    domain = pl.when(pl.col("name").str.starts_with("hip")).then(pl.lit("hip")).otherwise(pl.lit("cuda"))
    return calls.with_columns(domain.alias("domain"))


def _copies(copies: pl.DataFrame, owners: Owners) -> pl.DataFrame:
    if not copies.height:
        return copies
    kinds = copies.with_columns(
        domains.copy_kind(pl.col("name")).alias("kind"),
        domains.host_memory(pl.col("name")).alias("host_memory"),
    )
    return owners.of_gpu(kinds.drop("name"))


def _ops(columns: Columns, base: int) -> pl.DataFrame:
    operators = with_compiled(timed(columns.frame("operator"), base))
    python = timed(columns.frame("python"), base)
    kinds = ((operators, "operator"), (python, "python"))
    # Conformed one by one: this is by far the largest table, and it must not be copied whole.
    frames = [
        schema.conform("ops", frame.with_columns(pl.lit(kind).alias("category")))
        for frame, kind in kinds
        if frame.height
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def _ranges(columns: Columns, annotations: pl.DataFrame, base: int, owners: Owners) -> pl.DataFrame:
    spans = {
        "record_function": annotations.drop("shapes", "dtypes", strict=False),
        "profiler": timed(columns.frame("overhead"), base),
        **_others(timed(columns.frame("other"), base), list(columns.accelerators)),
    }
    frames = [
        frame.with_columns(pl.lit(source).alias("source")) for source, frame in spans.items() if frame.height
    ]
    shadows = timed(columns.frame("gpu_range"), base)
    if shadows.height:
        placed = owners.of_gpu(shadows).drop("op_id")
        frames.append(
            placed.with_columns(pl.lit("record_function").alias("source"), pl.lit(True).alias("on_gpu"))
        )
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


def _others(events: pl.DataFrame, accelerators: list[int]) -> dict[str, pl.DataFrame]:
    """The events of unknown categories, those of devices apart from those of the host."""
    if not events.height or not accelerators:
        return {"chrome": events}
    on_device = pl.col("pid").is_in(accelerators).fill_null(False)
    return {"chrome": events.filter(~on_device), ACCELERATOR: events.filter(on_device)}


ADAPTERS = (
    Adapter(
        name="torch-profiler-json",
        title="torch.profiler / Kineto trace",
        recognised_by="JSON with traceEvents and Kineto's keys (deviceProperties, schemaVersion, ...) or categories",
        claims=claims,
        read=read,
        survey=survey,
        read_span=read,
    ),
)
