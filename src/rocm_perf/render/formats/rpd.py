"""A Trace as the SQLite database of rocmProfileData (RPD, schema 2), as it records through roctracer: calls, what GPUs
did, and which call caused what.

A call carries the sizes and the stream of its work, so they are lost if one call (a graph) caused several kernels. The
format has no place for passes, ranks, nodes, agents, allocations, counters, accumulation registers and links.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.rpd_schema import STATEMENTS
from rocm_perf.render.formats.sqlite import Rows, write_database

MARKER = "UserMarker"
_CALL = ["node", "pid", "pass_id", "correlation_id"]
_OPERATIONS = {
    "H2D": "CopyHostToDevice",
    "D2H": "CopyDeviceToHost",
    "D2D": "CopyDeviceToDevice",
    "H2H": "CopyHostToHost",
    "P2P": "CopyPeerToPeer",
    "MEMSET": "FillBuffer",
}
_KINDS = {"H2H": 0, "H2D": 1, "D2H": 2, "D2D": 3}  # hipMemcpyKind
_SEE_ADDRESSES = 4
_LAUNCHED_BY_ITEMS = ["hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"]
_SENSORS = {"clock_mhz": "sclk", "memory_clock_mhz": "mclk", "power_w": "power", "temperature_c": "temp"}
_AXES = tuple((size, axis) for size in ("grid", "workgroup") for axis in "xyz")


def write(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """Write everything in the trace that the format can hold."""
    write_database(path, STATEMENTS, _Writer(trace).rows(), overwrite=overwrite)


class _Writer:
    """The rows of the file, table after table."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.strings = {"": 1}

    def rows(self) -> Iterator[Rows]:
        metadata = {"schema_version": "2", "session_count": "1"}
        yield "rocpd_metadata", pl.DataFrame({"tag": list(metadata), "value": list(metadata.values())})
        calls = _numbered(_timed(self.trace, "api_calls"), "correlation_id")
        yield "rocpd_api", self._apis(calls, calls["name"])
        yield from self._ranges_and_operators(1 + max(calls["id"].to_list(), default=0))
        causes = calls.select(
            *_CALL, pl.col("id").alias("api_id"), pl.col("name").alias("function")
        ).drop_nulls("correlation_id")
        causes = causes.unique(_CALL, keep="first")
        dispatches = _caused(_numbered(_timed(self.trace, "dispatches"), "dispatch_id"), causes)
        yield from self._ops(
            dispatches, dispatches["kernel"], pl.repeat("KernelExecution", dispatches.height, eager=True)
        )
        yield from self._launches(dispatches)
        first = 1 + max(dispatches["id"].to_list(), default=0)
        copies = _caused(_counted(_timed(self.trace, "copies"), first), causes)
        kinds = copies["kind"].replace_strict(_OPERATIONS, default="CopyBuffer", return_dtype=pl.String)
        yield from self._ops(copies, pl.repeat("", copies.height, eager=True), kinds)
        yield "rocpd_copyapi", _copy_calls(copies)
        yield "rocpd_monitor", self._samples()
        strings = {"id": list(self.strings.values()), "string": list(self.strings)}
        yield "rocpd_string", pl.DataFrame(strings, schema={"id": pl.Int64, "string": pl.String})

    def _strings(self, texts: pl.Series) -> pl.Series:
        """The numbers of strings; new ones are remembered."""
        for text in texts.unique(maintain_order=True):
            self.strings.setdefault(text, len(self.strings) + 1)
        numbers: pl.Series = texts.replace_strict(self.strings, return_dtype=pl.Int64)
        return numbers

    def _apis(self, rows: pl.DataFrame, names: pl.Series, arguments: pl.Series | None = None) -> pl.DataFrame:
        texts = pl.repeat("", rows.height, eager=True) if arguments is None else arguments
        return rows.select(
            "id",
            pl.col("pid", "tid").fill_null(0),
            pl.col("start_ns").alias("start"),
            pl.col("end_ns").alias("end"),
            self._strings(names).alias("apiName_id"),
            self._strings(texts).alias("args_id"),
        )

    def _ranges_and_operators(self, first: int) -> Iterator[Rows]:
        """The rows of ranges and framework operators, which the format keeps among the calls."""
        ranges = _counted(_timed(self.trace, "ranges").filter(~pl.col("on_gpu")), first)
        yield "rocpd_api", self._apis(ranges, pl.repeat(MARKER, ranges.height, eager=True), ranges["name"])
        ops = _timed(self.trace, "ops").filter(pl.col("category") == "operator")
        ops = _counted(ops, first + ranges.height)
        sequence = pl.concat_str(pl.lit('{"seq": '), "sequence", pl.lit("}")).fill_null("")
        yield "rocpd_api", self._apis(ops, ops["name"], ops.select(sequence.alias("arguments"))["arguments"])

    def _ops(self, rows: pl.DataFrame, descriptions: pl.Series, types: pl.Series) -> Iterator[Rows]:
        yield (
            "rocpd_op",
            rows.select(
                "id",
                pl.col("agent_id").fill_null(0).alias("gpuId"),
                pl.col("queue_id").fill_null(0).alias("queueId"),
                pl.lit(0, pl.Int64).alias("sequenceId"),
                pl.lit("").alias("completionSignal"),
                pl.col("start_ns").alias("start"),
                pl.col("end_ns").alias("end"),
                self._strings(descriptions).alias("description_id"),
                self._strings(types).alias("opType_id"),
            ),
        )
        yield "rocpd_api_ops", rows.select("api_id", op_id="id").drop_nulls("api_id")

    def _launches(self, dispatches: pl.DataFrame) -> Iterator[Rows]:
        """The details of launches: the grid in workgroups, except for the calls that take work-items."""
        sizes = [f"{size}_{axis}" for size, axis in _AXES]
        rows = dispatches.filter(pl.col("api_id").is_unique()).drop_nulls(["api_id", *sizes])
        kinds = rows.select("vgprs", "sgprs").drop_nulls().unique(maintain_order=True)
        kinds = _counted(kinds, 1).rename({"id": "code"})
        yield (
            "rocpd_kernelcodeobject",
            kinds.select(id="code", vgpr="vgprs", sgpr="sgprs", fbar=pl.lit(0, pl.Int64)),
        )
        rows = rows.join(kinds, on=["vgprs", "sgprs"], how="left", maintain_order="left")
        by_items = pl.col("function").is_in(_LAUNCHED_BY_ITEMS)
        blocks = {axis: (pl.col(f"grid_{axis}") / pl.col(f"workgroup_{axis}")).ceil() for axis in "xyz"}
        grids = {
            axis: pl.when(by_items)
            .then(f"grid_{axis}")
            .otherwise(count.cast(pl.Int64, strict=False))
            .fill_null(0)
            for axis, count in blocks.items()
        }
        yield (
            "rocpd_kernelapi",
            rows.select(
                pl.col("api_id").alias("api_ptr_id"),
                _streams(rows),
                *(grid.alias(f"grid{axis.upper()}") for axis, grid in grids.items()),
                *(pl.col(f"workgroup_{axis}").alias(f"workgroup{axis.upper()}") for axis in "xyz"),
                pl.col("lds_bytes").fill_null(0).alias("groupSegmentSize"),
                pl.col("scratch_bytes").fill_null(0).alias("privateSegmentSize"),
                *(pl.lit("").alias(column) for column in ("kernelArgAddress", "aquireFence", "releaseFence")),
                pl.col("code").fill_null(0).alias("codeObject_id"),
                self._strings(rows["kernel"]).alias("kernelName_id"),
            ),
        )

    def _samples(self) -> pl.DataFrame:
        """The sensor readings. Each row is the time during which one value held. Sensors count GPUs from 0, as the
        SMI does."""
        gpus = self.trace.table("agents").select("node", "agent_id", "logical_index")
        rows = self.trace.table("samples").drop_nulls(["time_ns", "value", "agent_id"])
        rows = rows.join(gpus, on=["node", "agent_id"], how="left", maintain_order="left")
        value = pl.col("value")
        whole = (value == value.round()) & (value.abs() < 1e15)
        until = pl.col("time_ns").shift(-1).over("node", "agent_id", "metric")
        return rows.select(
            pl.lit("gpu").alias("deviceType"),
            pl.coalesce("logical_index", "agent_id").alias("deviceId"),
            pl.col("metric").replace(_SENSORS).alias("monitorType"),
            pl.coalesce("start_ns", "time_ns").alias("start"),
            pl.coalesce("end_ns", until, "time_ns").alias("end"),
            pl.when(whole)
            .then(value.cast(pl.Int64, strict=False).cast(pl.String))
            .otherwise(value.cast(pl.String)),
        )


def _timed(trace: Trace, table: str) -> pl.DataFrame:
    """The rows that have both times: the format allows no others."""
    return trace.table(table).drop_nulls(["start_ns", "end_ns"])


def _counted(rows: pl.DataFrame, first: int) -> pl.DataFrame:
    return rows.with_columns(pl.int_range(first, first + pl.len(), dtype=pl.Int64).alias("id"))


def _numbered(rows: pl.DataFrame, number: str) -> pl.DataFrame:
    """Rows with an id: their own numbers, if those are unique."""
    numbers = rows[number]
    usable = not numbers.null_count() and numbers.n_unique() == numbers.len()
    return rows.with_columns(numbers.alias("id")) if usable else _counted(rows, 1)


def _caused(rows: pl.DataFrame, causes: pl.DataFrame) -> pl.DataFrame:
    return rows.join(causes, on=_CALL, how="left", maintain_order="left")


def _copy_calls(copies: pl.DataFrame) -> pl.DataFrame:
    """The details of copies."""
    kind = pl.col("kind").replace_strict(_KINDS, default=_SEE_ADDRESSES, return_dtype=pl.Int64)
    rows = copies.filter(pl.col("api_id").is_unique()).drop_nulls(["api_id", "size_bytes"])
    return rows.select(
        pl.col("api_id").alias("api_ptr_id"),
        _streams(rows),
        pl.col("size_bytes").alias("size"),
        *(pl.lit("").alias(column) for column in ("width", "height")),
        kind.alias("kind"),
        *(pl.lit("").alias(column) for column in ("dst", "src")),
        *(pl.lit(0, pl.Int64).alias(column) for column in ("dstDevice", "srcDevice", "sync", "pinned")),
    )


def _streams(rows: pl.DataFrame) -> pl.Series:
    """The streams as addresses (`0x0`), which identify them."""
    numbers = rows["stream_id"].alias("stream")
    addresses = {number: f"{number:#x}" for number in numbers.unique().drop_nulls()}
    named: pl.Series = numbers.replace_strict(addresses, default="", return_dtype=pl.String)
    return named
