"""A Trace as the SQLite database that rocprofv3 of ROCm 7.x writes (rocpd, schema 3): a set of tables for each
process, and the views that users query.

The format has no place for ranks, passes, framework operators, collectives, links, graphs and ranges on the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf.errors import UsageError
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.rocpd_process import UNKNOWN, Process, processes_of
from rocm_perf.render.formats.rocpd_schema import statements
from rocm_perf.render.formats.sqlite import Rows, write_database

_MOST_PROCESSES = 500  # parts that SQLite allows in a UNION; each view is one

_CATEGORIES = {
    "hip": "HIP_RUNTIME_API_EXT",
    "hip_compiler": "HIP_COMPILER_API_EXT",
    "hsa": "HSA_CORE_API",
    "rccl": "RCCL_API",
    "rocdecode": "ROCDECODE_API_EXT",
    "rocjpeg": "ROCJPEG_API",
    "kfd": "KFD_EVENT_QUEUE",
}
_COPIES = {
    "H2D": "MEMORY_COPY_HOST_TO_DEVICE",
    "D2H": "MEMORY_COPY_DEVICE_TO_HOST",
    "D2D": "MEMORY_COPY_DEVICE_TO_DEVICE",
    "H2H": "MEMORY_COPY_HOST_TO_HOST",
    "P2P": "MEMORY_COPY_PEER_TO_PEER",
    "MEMSET": "MEMORY_COPY_MEMSET",
    "UNKNOWN": "MEMORY_COPY_NONE",
}
_MARKER = "MARKER_CORE_RANGE_API"
_MARKER_CALL = "roctxThreadRangeA"
_SENSOR = "device_smi"
_AXES = tuple((size, axis) for size in ("grid", "workgroup") for axis in "xyz")
_OPERATIONS = ["ALLOC", "FREE", "REALLOC", "RECLAIM"]


def write(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """Write everything in the trace that the format can hold."""
    processes = processes_of(trace)
    if len(processes) > _MOST_PROCESSES:
        raise UsageError(
            f"a rocpd database holds at most {_MOST_PROCESSES} processes, this recording has {len(processes)}"
        )
    schema = statements([process.suffix for process in processes])
    rows = (rows for process in processes for rows in _Writer(process).rows())
    write_database(path, schema, rows, overwrite=overwrite)


class _Writer:
    """The rows of one process, table by table: only one is in memory at a time."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.strings = {"": 1}
        self.events = 0

    def rows(self) -> Iterator[Rows]:
        for table, frame in chain(self._info(), self._recorded()):
            yield f"rocpd_{table}{self.process.suffix}", frame

    def _info(self) -> Iterator[Rows]:
        process, suffix = self.process, self.process.suffix
        metadata = {"schema_version": "3", "uuid": suffix, "guid": suffix[1:].replace("_", "-")}
        yield "metadata", pl.DataFrame({"tag": list(metadata), "value": list(metadata.values())})
        yield "info_node", process.node_info()
        yield "info_process", process.process_info()
        yield "info_thread", process.threads()
        yield "info_agent", process.agents()
        yield "info_queue", process.named("queue_id", "Queue")
        yield "info_stream", process.named("stream_id", "Stream")
        yield "info_pmc", process.pmc_info()
        yield "info_code_object", process.code_objects()
        yield "info_kernel_symbol", process.kernel_symbols()

    def _recorded(self) -> Iterator[Rows]:
        yield from self._calls()
        yield from self._ranges()
        yield from self._dispatches()
        yield from self._copies()
        yield from self._allocations()
        yield from self._samples()
        strings = {"id": list(self.strings.values()), "string": list(self.strings)}
        yield "string", pl.DataFrame(strings, schema={"id": pl.Int64, "string": pl.String})

    def _string(self, text: str) -> int:
        """The number of a string; a new one is remembered."""
        return self.strings.setdefault(text, len(self.strings) + 1)

    def _strings(self, texts: pl.Series) -> pl.Series:
        numbers = {text: self._string(text) for text in texts.unique(maintain_order=True)}
        ids: pl.Series = texts.replace_strict(numbers, return_dtype=pl.Int64)
        return ids

    def _events(self, rows: pl.DataFrame, category: pl.Expr, caused: pl.Expr) -> pl.DataFrame:
        """An event for each row: the call that it is or came from (`caused`), by which others are joined to it.
        `id` is the number that SQLite will assign, which is faster than writing it."""
        first = self.events + 1
        self.events += rows.height
        return rows.select(
            pl.int_range(first, first + pl.len(), dtype=pl.Int64).alias("id"),
            category.alias("category_id"),
            pl.col("correlation_id").alias("stack_id"),
            caused.cast(pl.Int64).alias("parent_stack_id"),
            pl.lit(0, pl.Int64).alias("correlation_id"),
        )

    def _span(self, rows: pl.DataFrame, events: pl.DataFrame, *more: pl.Expr | str) -> pl.DataFrame:
        """Time, thread and event of each row. Zero means that no time was recorded."""
        has_times = pl.col("start_ns").is_not_null() & pl.col("end_ns").is_not_null()
        spans = rows.select(
            "tid",
            pl.when(has_times).then("start_ns").otherwise(0).alias("start"),
            pl.when(has_times).then("end_ns").otherwise(0).alias("end"),
            events["id"].alias("event_id"),
            *more,
        )
        return self.process.owned(spans)

    def _literal(self, text: str) -> pl.Expr:
        return pl.lit(self._string(text), pl.Int64)

    def _calls(self) -> Iterator[Rows]:
        calls = self.process.rows("api_calls")
        names = {domain: _CATEGORIES.get(domain, domain.upper()) for domain in calls["domain"].unique()}
        categories = self._strings(calls["domain"].replace_strict(names, return_dtype=pl.String))
        events = self._events(calls, pl.lit(categories), pl.lit(0))
        yield "event", events.drop("id")
        regions = self._span(calls, events, pl.lit(self._strings(calls["name"])).alias("name_id"))
        yield "region", regions.with_columns(pl.col("tid").fill_null(UNKNOWN))

    def _ranges(self) -> Iterator[Rows]:
        """Ranges: the program's message is stored with the event; the region has the name of the call."""
        ranges = self.process.rows("ranges").filter(~pl.col("on_gpu"))
        events = self._events(ranges, self._literal(_MARKER), pl.lit(0))
        messages = {name: _json(message=name) for name in ranges["name"].unique()}
        extdata = ranges["name"].replace_strict(messages, return_dtype=pl.String)
        yield "event", events.drop("id").with_columns(extdata.alias("extdata"))
        regions = self._span(ranges, events, self._literal(_MARKER_CALL).alias("name_id"))
        yield "region", regions.with_columns(pl.col("tid").fill_null(UNKNOWN))

    def _dispatches(self) -> Iterator[Rows]:
        rows = self.process.rows("dispatches")
        events = self._events(rows, self._literal("KERNEL_DISPATCH"), pl.col("correlation_id"))
        yield "event", events.drop("id")
        zeros = ("dispatch_id", "queue_id", "stream_id")  # what a dispatch must have; so must the sizes
        yield (
            "kernel_dispatch",
            self._span(
                rows,
                events,
                pl.col("agent_id").fill_null(UNKNOWN),
                pl.lit(self.process.kernel_ids()).alias("kernel_id"),
                *(pl.col(column).fill_null(0) for column in zeros),
                pl.col("scratch_bytes").alias("private_segment_size"),
                pl.col("lds_bytes").alias("group_segment_size"),
                *(pl.col(f"{size}_{axis}").fill_null(0).alias(f"{size}_size_{axis}") for size, axis in _AXES),
                self._literal("").alias("region_name_id"),
            ),
        )
        yield "pmc_event", self._counters(rows.select("dispatch_id"), events)

    def _counters(self, dispatches: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
        counters = self.process.rows("counters", "dispatch_id", "agent_id", "counter", "value")
        launched = dispatches.with_columns(events["id"].alias("event_id")).unique("dispatch_id", keep="first")
        kinds = self.process.counted.select(
            "agent_id", pl.col("name").alias("counter"), pl.col("id").alias("pmc_id")
        )
        values = counters.join(launched, on="dispatch_id", how="left", maintain_order="left")
        named = values.join(
            kinds, on=["agent_id", "counter"], how="left", nulls_equal=True, maintain_order="left"
        )
        return named.select("event_id", "pmc_id", "value")

    def _copies(self) -> Iterator[Rows]:
        copies = self.process.rows("copies")
        events = self._events(copies, self._literal("MEMORY_COPY"), pl.col("correlation_id"))
        yield "event", events.drop("id")
        names = self._strings(copies["kind"].replace_strict(_COPIES, default="MEMORY_COPY_NONE"))
        device = pl.col("agent_id")
        from_device = pl.col("kind") == "D2H"
        yield (
            "memory_copy",
            self._span(
                copies,
                events,
                pl.lit(names).alias("name_id"),
                pl.coalesce("dst_agent", pl.when(~from_device).then(device)).alias("dst_agent_id"),
                pl.coalesce("src_agent", pl.when(from_device).then(device)).alias("src_agent_id"),
                pl.col("size_bytes").fill_null(0).alias("size"),
                "queue_id",
                "stream_id",
                self._literal("").alias("region_name_id"),
            ),
        )

    def _allocations(self) -> Iterator[Rows]:
        """Allocations; scratch memory is among them, marked by its level."""
        level = pl.col("level")
        kept = pl.when(level.is_in(["REAL", "VIRTUAL"])).then(level).alias("level")
        signed = pl.col("address").reinterpret(signed=True)
        yield from self._allocated(
            self.process.rows("allocations").with_columns(kept, signed), "MEMORY_ALLOCATION"
        )
        scratch = self.process.rows("scratch")
        extdata = pl.Series("extdata", [_json(flags=flags) for flags in scratch["flags"]], dtype=pl.String)
        scratch = scratch.with_columns(extdata, level=pl.lit("SCRATCH"), address=pl.lit(None, pl.Int64))
        yield from self._allocated(scratch, "SCRATCH_MEMORY", "extdata")

    def _allocated(self, rows: pl.DataFrame, category: str, *more: str) -> Iterator[Rows]:
        events = self._events(rows, self._literal(category), pl.col("correlation_id"))
        yield "event", events.drop("id")
        operation = pl.col("operation")
        yield (
            "memory_allocate",
            self._span(
                rows,
                events,
                "agent_id",
                pl.when(operation.is_in(_OPERATIONS)).then(operation).alias("type"),
                "level",
                "address",
                pl.col("size_bytes").fill_null(0).alias("size"),
                "queue_id",
                "stream_id",
                *more,
            ),
        )

    def _samples(self) -> Iterator[Rows]:
        """Sensor readings: each is a sample on the track of its sensor, and a value of the counter of that name."""
        readings = self.process.sensors.with_columns(correlation_id=pl.lit(0, pl.Int64))
        sensors = readings.select("agent_id", "metric").unique(maintain_order=True)
        tracks = sensors.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("id"))
        names = self._strings(tracks["metric"]).alias("name_id")
        yield "track", self.process.owned(tracks.select("id", names))
        events = self._events(readings, self._literal(_SENSOR), pl.lit(0))
        yield "event", events.drop("id")
        key = ["agent_id", "metric"]
        counters = self.process.counted.select("agent_id", metric="name", pmc_id="id")
        placed = readings.join(tracks, on=key, nulls_equal=True, how="left", maintain_order="left")
        placed = placed.join(counters, on=key, nulls_equal=True, how="left", maintain_order="left")
        yield "sample", placed.select(events["id"].alias("event_id"), track_id="id", timestamp="time_ns")
        yield "pmc_event", placed.select(events["id"].alias("event_id"), "pmc_id", "value")


def _json(**fields: object) -> str:
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None}).decode()
