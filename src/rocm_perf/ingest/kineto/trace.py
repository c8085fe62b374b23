"""torch.profiler (Kineto) traces, from 2021 to now, of the roctracer, rocprofiler-sdk and CUPTI backends.

The category of an event decides whether it is GPU work. Kernels whose launch is outside the recorded window are kept
without one. Times are exact: microseconds with three decimals become integer nanoseconds.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from msgspec.structs import replace

from rocm_perf.ingest import domains
from rocm_perf.ingest.io.collector import collector_off
from rocm_perf.ingest.io.json import EventArray, nothing_read
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto import agents as kineto_agents
from rocm_perf.ingest.kineto.captured import captured
from rocm_perf.ingest.kineto.collectives import ARGUMENTS, collective_calls, collectives
from rocm_perf.ingest.kineto.columns import Columns, timed
from rocm_perf.ingest.kineto.compiled import with_compiled
from rocm_perf.ingest.kineto.fields import CATEGORIES
from rocm_perf.ingest.kineto.header import Header, around
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
# More shared memory for a block needs an opt-in (CUDA C++ Programming Guide), which Kineto's estimate of the occupancy
# does not know: it is 0 then.
_SHARED_MEMORY = 48 * 1024
_WORK_ITEM_LAUNCHES = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")
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
        columns, header, losses = _collect(source, span, exact=False)
        if columns.too_long_for_float:
            columns, header, losses = _collect(source, span, exact=True)
    numbering = columns.numbering
    tables, notices = _tables(columns, header)
    notices += [f"{label} is neither a GPU of AMD nor of NVIDIA" for label in columns.accelerators.values()]
    if columns.profiler_ranges:
        tables |= profiler_ranges(source, header)
    if not any(frame.height for frame in tables.values()):
        damage = (
            losses[0].what if losses and span == WHOLE else None
        )  # a part may hold nothing of a file that is cut
        raise nothing_read(
            source.name, damage, "the profiler window was empty", "Check the profiler's schedule."
        )
    return Gathered(tables=tables, header=header, losses=losses, notices=notices, numbering=numbering)


def _collect(source: Source, span: Span, *, exact: bool) -> tuple[Columns, Header, list[Loss]]:
    decode, skipped = piece_decoder(exact)
    array = EventArray(source, "traceEvents", decode)
    columns = Columns(exact, None if span == WHOLE else EventWindow(span, outlined(source).base_ns))
    for events in array:
        columns.add(events)
    losses = [Loss(source.name, array.damage)] if array.damage else []
    if skipped[0]:
        losses.append(Loss(source.name, "events that are not of the form Kineto writes", skipped[0]))
    return columns, around(array.prefix, array.suffix, source.name), losses


def _tables(columns: Columns, header: Header) -> tuple[dict[str, pl.DataFrame], list[str]]:
    base = header.base_ns or 0
    calls, kernels, copies = paired(
        *(timed(columns.frame(name), base) for name in ("runtime", "kernel", "copy"))
    )
    owners = owners_of(calls, columns.rank_of_process)
    api_calls = _api_calls(calls)
    notices: list[str] = []
    in_work_items = _in_work_items(calls)
    dispatches, swapped = _dispatches(kernels, in_work_items, columns, owners, header)
    if swapped:
        notices.append("this backend writes the workgroup as `grid` and the work-items as `block`: corrected")
    launches = columns.frame("launch").drop("start_ns", "dur", strict=False)
    annotations = timed(columns.frame("range"), base)
    ops = _ops(columns, base)
    tables = {
        "dispatches": dispatches,
        "collectives": owners.of_gpu(collectives(kernels)) if kernels.height else kernels,
        "copies": _copies(copies, owners),
        "api_calls": api_calls,
        "ops": ops,
        "ranges": _ranges(columns, annotations, base, owners),
        "collective_calls": pl.concat([collective_calls(ops), collective_calls(annotations)], how="diagonal"),
        "links": _links(columns, base),
        **captured(calls, _sized(launches, in_work_items), kernels),
        **_memory(timed(columns.frame("memory"), base)),
    }
    tables |= {name: owners.of_host(tables[name]) for name in _ON_HOST}
    tables["agents"] = kineto_agents.agents(tables["dispatches"], header)
    return tables, notices


def _api_calls(calls: pl.DataFrame) -> pl.DataFrame:
    if not calls.height:
        return calls
    domain = pl.when(pl.col("name").str.starts_with("hip")).then(pl.lit("hip")).otherwise(pl.lit("cuda"))
    return calls.with_columns(domain.alias("domain"))


def _dispatches(
    kernels: pl.DataFrame, in_work_items: pl.Series, columns: Columns, owners: Owners, header: Header
) -> tuple[pl.DataFrame, bool]:
    if not kernels.height:
        return kernels, False
    swapped = header.rocprofiler_sdk is not None and _is_swapped(kernels)
    estimated = (pl.col("occupancy") > 0) | (pl.col("lds_bytes").fill_null(0) <= _SHARED_MEMORY)
    table = kernels.rename({"name": "kernel"}).with_columns(
        *_geometry(swapped, in_work_items), pl.when(estimated).then("occupancy")
    )
    table = table.drop(ARGUMENTS)
    numbered = table.with_columns(columns.kernel_numbers(table.height))
    return owners.of_gpu(numbered), swapped


def _is_swapped(kernels: pl.DataFrame) -> bool:
    """Whether a `block` is too large: no workgroup has more than 1024 work-items."""
    block = pl.col("workgroup_x") * pl.col("workgroup_y") * pl.col("workgroup_z")
    return bool(kernels.select((block > 1024).any()).item())


def _in_work_items(calls: pl.DataFrame) -> pl.Series:
    """Correlation ids of launches by functions that take the grid in work-items, as hipBLASLt and MIOpen do: it is
    recorded as given."""
    if not calls.height:
        return pl.Series(dtype=pl.Int64)
    launched = calls.filter(pl.col("name").is_in(_WORK_ITEM_LAUNCHES))
    return launched["correlation_id"].drop_nulls()


def _geometry(swapped: bool, in_work_items: pl.Series) -> list[pl.Expr]:
    """Sizes in work-items: blocks times block size, unless the backend wrote work-items already."""
    if swapped:
        sizes = [pl.col(f"workgroup_{axis}").alias(f"grid_{axis}") for axis in "xyz"]
        return [*sizes, *(pl.col(f"grid_{axis}").alias(f"workgroup_{axis}") for axis in "xyz")]
    has_work_items = pl.col("correlation_id").is_in(in_work_items.implode()).fill_null(False)
    return [
        (pl.col(f"grid_{axis}") * pl.when(has_work_items).then(1).otherwise(f"workgroup_{axis}")).alias(
            f"grid_{axis}"
        )
        for axis in "xyz"
    ]


def _sized(launches: pl.DataFrame, in_work_items: pl.Series) -> pl.DataFrame:
    """The launches with their sizes in work-items."""
    return launches.with_columns(*_geometry(False, in_work_items)) if launches.height else launches


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


def _links(columns: Columns, base: int) -> pl.DataFrame:
    """Links from forward to backward operators, and between streams that wait for one another."""
    frames = []
    starts, ends = (timed(columns.frame(f"flow_{phase}"), base) for phase in "sf")
    if starts.height and ends.height:
        pairs = starts.join(ends, on=["pid", "id"], suffix="_end")
        frames.append(
            pairs.select(
                pl.lit("forward_backward").alias("kind"),
                "pid",
                pl.col("start_ns").alias("cause_ns"),
                pl.col("tid").alias("cause_track"),
                pl.col("start_ns_end").alias("effect_ns"),
                pl.col("tid_end").alias("effect_track"),
            )
        )
    waits = timed(columns.frame("wait"), base)
    if waits.height:
        waits = waits.filter(pl.col("wait_on_stream").is_not_null())
        frames.append(
            waits.select(
                pl.lit("event").alias("kind"),
                pl.col("wait_on_stream").alias("cause_track"),
                pl.col("start_ns").alias("effect_ns"),
                pl.col("stream_id").alias("effect_track"),
            )
        )
    return (
        pl.concat(frames, how="diagonal").with_columns(pl.lit("recorded").alias("known"))
        if frames
        else pl.DataFrame()
    )


def _memory(events: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The framework allocator's own events; device type 0 is the CPU."""
    if not events.height:
        return {}
    on_gpu = events.filter(pl.col("device_type") != 0)
    allocations = on_gpu.select(
        pl.when(pl.col("delta_bytes") < 0).then(pl.lit("FREE")).otherwise(pl.lit("ALLOC")).alias("operation"),
        pl.lit("CACHED").alias("level"),
        pl.when(pl.col("address") > 0).then(pl.col("address")).cast(pl.UInt64).alias("address"),
        pl.col("delta_bytes").abs().alias("size_bytes"),
        "start_ns",
        pl.col("start_ns").alias("end_ns"),
        pl.col("device_id").alias("agent_id"),
        "pid",
        "tid",
    )
    readings = [
        on_gpu.select(
            pl.col("start_ns").alias("time_ns"),
            pl.col("device_id").alias("agent_id"),
            pl.lit(f"torch_{name}_bytes").alias("metric"),
            pl.col(name).cast(pl.Float64).alias("value"),
            pl.lit("B").alias("unit"),
        ).drop_nulls("value")
        for name in ("allocated", "reserved")
    ]
    return {"allocations": allocations, "samples": pl.concat(readings)}


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
