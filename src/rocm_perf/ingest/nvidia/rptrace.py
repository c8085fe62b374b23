"""What rocm-perf's own tracer records of a CUDA program. Times are moved to the boot clock, on which ROCm's profilers
and our samplers record."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.blocks import MAGIC, Blocks, read_blocks
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto import agents as kineto_agents
from rocm_perf.ingest.kineto.header import Device, Header
from rocm_perf.ingest.kineto.types import Int64
from rocm_perf.ingest.nvidia.windows import recorded_windows, within
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.survey import Survey
from rocm_perf.model.run import Loss
from rocm_perf.units import format_count

_MOST_OF_A_SEGMENT = 10**10  # kernels, so that those of two segments never share a number
_BYTES_PER_KERNEL = 25  # on disk, with its launch: a decode loop on an H200
_SPAN = ("start_ns", "duration_ns")
_COLUMNS = {
    "k": (*_SPAN, "correlation_id", "name", "place", "shape"),
    "c": (*_SPAN, "correlation_id", "name", "tid"),
    "m": (*_SPAN, "correlation_id", "name", "place", "size_bytes", "src_agent", "dst_agent"),
    "w": (*_SPAN, "correlation_id", "name", "agent_id", "stream_id", "awaited_stream"),
    "a": ("start_ns", "delta_bytes", "address", "agent_id", "of_host"),
    "r": (*_SPAN, "tid", "name"),
    "o": (*_SPAN, "tid", "name"),
    "v": ("start_ns", "is_open"),
    "p": ("agent_id", "context", "stream_id"),
    "g": ("vgprs", "lds_bytes", *(f"{what}_{axis}" for what in ("blocks", "workgroup") for axis in "xyz")),
}


class _Beginning(msgspec.Struct):
    """What the tracer says about its process before the records."""

    cupti_time_ns: Int64  # one moment, on the clock of the records
    boot_time_ns: Int64  # the same moment on the boot clock
    host: str | None = None
    pid: Int64 | None = None
    rank: Int64 | None = None
    command: str | None = None
    segment: Int64 = 0  # of a ring; 0 without one
    period_ns: Int64 = 0  # of windows that recur; 0 without them
    refusals: list[str] = []
    devices: list[Device] = []
    cupti_version: Int64 | None = None


class _End(msgspec.Struct):
    """What the tracer says after the records, unless its process was killed."""

    continued: bool = False  # in the next file of a ring
    dropped: Int64 = msgspec.field(default=0, name="dropped_records")
    incomplete: Int64 = msgspec.field(default=0, name="incomplete_records")
    unended_ranges: Int64 = 0
    signal: Int64 = 0
    window: str = ""  # why it never opened, or was still open
    stopped: str = ""  # why recording ended before the program


class _LastDocument(msgspec.Struct):
    end: _End


def claims(peek: Peek) -> bool:
    """Whether the file begins as our tracer's do."""
    return peek.head.startswith(MAGIC)


def read(source: Source) -> Part:
    """The recording of one process, or one segment of it."""
    blocks = read_blocks(source, _COLUMNS)
    beginning, end = _documents(source, blocks)
    tables = _tables(blocks, beginning)
    if end and not blocks.tables and (end.stopped or end.window):
        remedy = (
            "Mend that, and record again." if end.stopped else "Choose another window, or record without one."
        )
        raise EmptyCaptureError(f"{source.name} holds no records", end.stopped or end.window, remedy)
    return part(
        "rocm-perf cupti",
        tables,
        _losses(source.name, end, blocks.damage),
        tool_version=None if beginning.cupti_version is None else f"CUPTI {beginning.cupti_version}",
        host=beginning.host,
        pid=beginning.pid,
        rank=beginning.rank,
        command=beginning.command,
        clock="boot",
        notices=(*(f"CUPTI would not record {kind}" for kind in beginning.refusals), *_ending(end)),
    )


def _documents(source: Source, blocks: Blocks) -> tuple[_Beginning, _End | None]:
    try:
        beginning = msgspec.json.decode(blocks.documents[0], type=_Beginning)
        last = blocks.documents[1:]
        return beginning, msgspec.json.decode(last[-1], type=_LastDocument).end if last else None
    except (IndexError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        why = blocks.damage or str(error)
        raise InputError(f"cannot read {source.name}", why, "Record the program again.") from error


def _tables(blocks: Blocks, beginning: _Beginning) -> dict[str, pl.DataFrame]:
    shift = beginning.boot_time_ns - beginning.cupti_time_ns
    raw = {letter: _on_boot_clock(blocks, letter, shift) for letter in _COLUMNS}
    changes = raw.pop("v")
    raw = within(changes, raw, launched=("k", "m"), calls="c")
    process = pl.lit(beginning.pid, pl.Int64).alias("pid")
    api_calls = raw["c"].with_columns(process, pl.lit("cuda").alias("domain"))
    dispatches = _dispatches(raw, first=beginning.segment * _MOST_OF_A_SEGMENT + 1)
    tables = {
        "dispatches": dispatches.with_columns(process),
        "copies": _copies(raw["m"], raw["p"]).with_columns(process),
        "api_calls": api_calls,
        "ranges": _ranges(raw).with_columns(process),
        "links": _links(raw["w"]),
        "allocations": _allocations(raw["a"]).with_columns(process),
    }
    if beginning.period_ns:
        tables["windows"] = recorded_windows(changes, raw).with_columns(process)
    tables["agents"] = kineto_agents.agents(dispatches, Header(devices=beginning.devices))
    return tables


def _on_boot_clock(blocks: Blocks, letter: str, shift: int) -> pl.DataFrame:
    """One table of the file, empty if there is none; with texts in place of their numbers, and ends."""
    names = _COLUMNS[letter]
    table = blocks.tables.get(letter)
    if table is None:
        types = {name: pl.String if name == "name" else pl.Int64 for name in names}
        table = pl.DataFrame(schema=types)
    elif "name" in names:
        table = table.with_columns(blocks.named("name").alias("name")).drop_nulls("name")
    if "start_ns" in names:
        table = table.with_columns(pl.col("start_ns") + shift)
    if "duration_ns" in names:
        table = table.with_columns(end_ns=pl.col("start_ns") + pl.col("duration_ns")).drop("duration_ns")
    return table


def _looked_up(table: pl.DataFrame, numbers: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The table with the columns of the row that `numbers` stands for."""
    return table.join(rows.with_row_index(numbers).cast({numbers: pl.Int64}), on=numbers, how="left").drop(
        numbers
    )


def _dispatches(raw: dict[str, pl.DataFrame], first: int) -> pl.DataFrame:
    table = _looked_up(_looked_up(raw["k"], "place", raw["p"]), "shape", raw["g"])
    return table.select(
        pl.int_range(first, pl.len() + first, dtype=pl.Int64).alias("dispatch_id"),
        pl.col("name").alias("kernel"),
        *("start_ns", "end_ns", "agent_id", "stream_id", "correlation_id", "vgprs", "lds_bytes"),
        *(f"workgroup_{axis}" for axis in "xyz"),
        *((pl.col(f"blocks_{axis}") * pl.col(f"workgroup_{axis}")).alias(f"grid_{axis}") for axis in "xyz"),
    )


def _copies(copies: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    known = [pl.when(pl.col(name) >= 0).then(name).alias(name) for name in ("src_agent", "dst_agent")]
    return (
        _looked_up(copies, "place", places)
        .with_columns(
            domains.copy_kind(pl.col("name")).alias("kind"),
            domains.host_memory(pl.col("name")).alias("host_memory"),
            *known,
        )
        .drop("name", "context")
    )


def _ranges(raw: dict[str, pl.DataFrame]) -> pl.DataFrame:
    sources = (("r", "nvtx"), ("o", "profiler"))
    return pl.concat([raw[letter].with_columns(pl.lit(source).alias("source")) for letter, source in sources])


def _links(waits: pl.DataFrame) -> pl.DataFrame:
    """From the stream on which an event was recorded to the one that waited for it."""
    return waits.filter(pl.col("awaited_stream") >= 0).select(
        pl.lit("event").alias("kind"),
        pl.col("awaited_stream").alias("cause_track"),
        pl.col("start_ns").alias("effect_ns"),
        pl.col("stream_id").alias("effect_track"),
        pl.lit("recorded").alias("known"),
    )


def _allocations(memory: pl.DataFrame) -> pl.DataFrame:
    """The driver's own, of device memory. CUPTI does not say which thread it was."""
    return memory.filter(pl.col("of_host") == 0).select(
        pl.when(pl.col("delta_bytes") < 0).then(pl.lit("FREE")).otherwise(pl.lit("ALLOC")).alias("operation"),
        pl.lit("REAL").alias("level"),
        pl.when(pl.col("address") > 0).then("address").cast(pl.UInt64).alias("address"),
        pl.col("delta_bytes").abs().alias("size_bytes"),
        "start_ns",
        pl.col("start_ns").alias("end_ns"),
        "agent_id",
    )


def _losses(name: str, end: _End | None, damage: str | None) -> list[Loss]:
    if end is None:
        return [Loss(name, damage or "breaks off: the program was killed while it was recorded")]
    counts = (
        (end.dropped, "records that CUPTI dropped"),
        (end.incomplete, "records of work that had not ended when the process did"),
    )
    losses = [Loss(name, what, count) for count, what in counts if count]
    return [*losses, Loss(name, damage)] if damage else losses


def _ending(end: _End | None) -> list[str]:
    if end is None:
        return []
    notices = [f"signal {end.signal} ended the process"] if end.signal else []
    if end.unended_ranges:
        count = format_count(end.unended_ranges, "range")
        notices.append(f"{count} never ended: shown up to the end of the trace")
    if end.stopped:
        notices.append(f"recording stopped before the program did: {end.stopped}")
    if end.window:
        notices.append(f"the window: {end.window}")
    return notices


def survey(source: Source) -> Survey:
    """As many kernels with their launches as the file has room for."""
    count = source.stored_bytes // _BYTES_PER_KERNEL
    return Survey({"dispatches": count, "api_calls": count})


ADAPTERS = (
    Adapter(
        name="rocm-perf-tracer",
        title="rocm-perf's own recording of a CUDA program",
        recognised_by="a file that begins with RPTRACE1",
        claims=claims,
        read=read,
        survey=survey,
    ),
)
