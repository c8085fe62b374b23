"""A Trace as rocprofv3's results.json (ROCm 7.0): one document per node and pass, with one object per process.

Records name kinds, kernels, counters and agents by number; `strings`, `kernel_symbols`, `counters` and `agents` say
what the numbers mean. The records are built column by column.
"""

from __future__ import annotations

import io
import shlex
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec
import polars as pl

from rocm_perf.files import write_whole
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.rocprofv3 import (
    Part,
    allocations,
    counted_dispatches,
    host_folder,
    host_of,
    host_ranges,
    parts_of,
    pass_folder,
)
from rocm_perf.render.formats.rocprofv3_columns import copy_word, domain_word
from rocm_perf.render.formats.rocprofv3_json_facts import (
    API_KINDS,
    BUFFER_KINDS,
    CALLBACK_KINDS,
    FIRST_HANDLE,
    OPERATIONS,
    REGISTERS,
    agents_of,
    code_objects,
    handle,
    kernel_symbols,
    symbols_of,
)

_ROWS = 200_000  # turned into text at a time


def write(trace: Trace, path: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the documents and return their paths: `path`, or one in a folder for each pass (pmc_N) and each of
    several hosts."""
    documents: dict[Path, list[Part]] = {}
    parts = parts_of(trace)
    several = len({part.node for part in parts}) > 1
    for part in parts:
        host = host_folder(trace, part.node) if several else ""
        documents.setdefault(path.parent / pass_folder(trace, part, parts) / host / path.name, []).append(
            part
        )
    for target, members in documents.items():
        write_whole(target, partial(_write_document, trace, members), overwrite=overwrite)
    return list(documents)


def _write_document(trace: Trace, parts: list[Part], draft: Path) -> None:
    with draft.open("wb") as out:
        out.write(b'{"rocprofiler-sdk-tool":[')
        for position, part in enumerate(parts):
            out.write(b"," if position else b"")
            _write_process(_Process(trace, part), out)
        out.write(b"]}")


def _write_process(process: _Process, out: IO[bytes]) -> None:
    facts = msgspec.json.encode(process.facts())
    out.write(facts.removesuffix(b"}") + b',"callback_records":{"counter_collection":')
    _write_list(process.counter_collection(), out)
    out.write(b'},"buffer_records":{')
    for position, (name, frame) in enumerate(process.buffers().items()):
        out.write((b"," if position else b"") + f'"{name}":'.encode())
        _write_list(frame, out)
    out.write(b"}}")


def _write_list(frame: pl.DataFrame, out: IO[bytes]) -> None:
    out.write(b"[")
    for position, rows in enumerate(frame.iter_slices(_ROWS)):
        lines = io.BytesIO()
        rows.write_ndjson(lines)
        joined = lines.getvalue().rstrip(b"\n").replace(b"\n", b",")  # a string in JSON holds no bare newline
        out.write(b"," + joined if position and joined else joined)
    out.write(b"]")


class _Process:
    """One process in one pass, and the numbers that its records use."""

    def __init__(self, trace: Trace, part: Part) -> None:
        self.trace = trace
        self.part = part
        self.calls = part.of(trace, "api_calls").with_columns(domain_word("7.0")).with_row_index("row")
        self.ranges = _numbered(host_ranges(trace, part), self._last_correlation() + 1)
        self.symbols = symbols_of(trace, part)
        self.counters = part.of(trace, "counters").select("agent_id", "counter").unique(maintain_order=True)
        self.counters = self.counters.with_row_index("handle", 1)
        self.operations = OPERATIONS | {
            kind: names.sort().to_list()
            for (kind,), group in self.calls.group_by("word")
            for names in (group["name"].unique(),)
        }

    def _last_correlation(self) -> int:
        tables = ("dispatches", "api_calls", "copies", "allocations", "ranges")
        last = (self.part.of(self.trace, table)["correlation_id"].max() for table in tables)
        return max((int(value) for value in last if value is not None), default=0)  # type: ignore[arg-type]

    def facts(self) -> dict[str, Any]:
        """Everything but the records."""
        marks = [
            {"key": key, "value": name} for key, name in self.ranges.select("correlation_id", "name").rows()
        ]
        kinds = [{"kind": kind, "operations": self.operations.get(kind, [])} for kind in BUFFER_KINDS]
        strings = {
            "callback_records": [{"kind": kind, "operations": []} for kind in CALLBACK_KINDS],
            "buffer_records": kinds,
            "marker_api": marks,
            "correlation_id": {"external": []},
            "counters": {"dimension_ids": []},
            "pc_sample_instructions": [],
            "pc_sample_comments": [],
            "att_filenames": [],
            "code_object_snapshot_filenames": [],
        }
        return {
            "metadata": self._metadata(),
            "agents": agents_of(self.trace, self.part),
            "counters": self._counter_info(),
            "strings": strings,
            "code_objects": code_objects(self.symbols),
            "kernel_symbols": kernel_symbols(self.symbols),
            "host_functions": [],
            "summary": [],
        }

    def _metadata(self) -> dict[str, Any]:
        rows = self.part.of(self.trace, "processes").rows(named=True)
        process = rows[0] if rows else dict.fromkeys(("command", "start_ns", "end_ns"))
        node = dict.fromkeys(("machine_id", "release", "version", "hardware_name", "domain_name"), "")
        systems = self.trace.table("nodes").filter(node=self.part.node)["os"].to_list()
        return {
            "node": {
                "id": 0,
                "hash": 0,
                **node,
                "system_name": (systems and systems[0]) or "",
                "hostname": host_of(self.trace, self.part.node),
            },
            "pid": self.part.pid or 0,
            "init_time": process["start_ns"] or 0,
            "fini_time": process["end_ns"] or 0,
            "command": _arguments(process["command"] or self.trace.run.command or ""),
            "config": {"json_output": True},
        }

    def _counter_info(self) -> list[dict[str, Any]]:
        about = self.trace.table("counter_info").unique("counter", keep="first", maintain_order=True)
        rows = self.counters.join(about.drop("agent_id"), on="counter", how="left", maintain_order="left")
        return [
            {
                "agent_id": {"handle": handle(row["agent_id"])},
                "id": {"handle": row["handle"]},
                "is_constant": 0,
                "is_derived": int(row["derived"] or False),
                "name": row["counter"],
                **{key: row[key] or "" for key in ("description", "block", "expression")},
                "dimension_ids": [],
            }
            for row in rows.rows(named=True)
        ]

    def counter_collection(self) -> pl.DataFrame:
        """One record per dispatch, with the values of all its counters."""
        rows = self._with_kernel(counted_dispatches(self.trace, self.part))
        rows = rows.join(
            self.counters, on=["agent_id", "counter"], how="left", nulls_equal=True, maintain_order="left"
        )
        value = pl.struct(pl.struct(handle=pl.col("handle")).alias("counter_id"), "value")
        groups = rows.group_by("dispatch_id", maintain_order=True).agg(
            value.alias("records"), pl.exclude("dispatch_id", "records").first()
        )
        data = pl.struct(pl.lit(136).alias("size"), _correlation(), *_times(), _dispatch_info())
        return groups.select(
            data.alias("dispatch_data"),
            "records",
            _number("tid").alias("thread_id"),
            _number("vgprs").alias("arch_vgpr_count"),
            _number("sgprs").alias("sgpr_count"),
            (-(-_number("lds_bytes") // 512) * 512).alias("lds_block_size_v"),
        )

    def buffers(self) -> dict[str, pl.DataFrame]:
        """The records of each list, in the order of the tool."""
        part, trace = self.part, self.trace
        dispatches = self._with_kernel(part.of(trace, "dispatches").drop_nulls(["start_ns", "end_ns"]))
        done = dispatches.with_columns(word=pl.lit("KERNEL_DISPATCH_COMPLETE"))
        instant = pl.col("start_ns") == pl.col("end_ns")
        mark = pl.when(instant).then(pl.lit("roctxMarkA")).otherwise(pl.lit("roctxThreadRangeA"))
        copied = [_agent("dst_agent", "dst_agent_id"), _agent("src_agent", "src_agent_id")]
        copied.append(_number("size_bytes").alias("bytes"))
        allocated = [
            _agent("agent_id", "agent_id"),
            _address(),
            _number("size_bytes").alias("allocation_size"),
        ]
        scratch = part.of(trace, "scratch").with_columns(word=pl.col("operation"))
        queue = pl.struct(handle=_number("queue_id")).alias("queue_id")
        flags = pl.col("flags").cast(pl.Int64, strict=False).fill_null(0)
        own = [_agent("agent_id", "agent_id"), queue, flags, _number("size_bytes").alias("allocation_size")]
        records = {
            "kernel_dispatch": self._records("KERNEL_DISPATCH", done, 184, [_dispatch_info(), _stream()]),
            **{name: self._api(name) for name in ("hip_api", "hsa_api")},
            "marker_api": self._records("MARKER_CORE_RANGE_API", self.ranges.with_columns(word=mark), 64, []),
            "rccl_api": self._api("rccl_api"),
            "memory_copy": self._records(
                "MEMORY_COPY", part.of(trace, "copies").with_columns(copy_word()), 88, [*copied, _stream()]
            ),
            "memory_allocation": self._records("MEMORY_ALLOCATION", allocations(trace, part), 88, allocated),
            "scratch_memory": self._records("SCRATCH_MEMORY", scratch, 96, own),
            **{name: self._api(name) for name in ("rocdecode_api", "rocjpeg_api")},
        }
        return records | dict.fromkeys(("pc_sample_host_trap", "pc_sample_stochastic"), pl.DataFrame())

    def _api(self, name: str) -> pl.DataFrame:
        row = [pl.col("row")]
        named = self.calls.with_columns(kind=pl.col("word"), word=pl.col("name"))
        frames = [self._records(kind, named.filter(kind=kind), 64, row) for kind in API_KINDS[name]]
        return pl.concat(frames).sort("row").drop("row")

    def _records(self, kind: str, rows: pl.DataFrame, size: int, more: list[pl.Expr]) -> pl.DataFrame:
        """Records of one kind; `word` names the operation."""
        numbers = {name: number for number, name in enumerate(self.operations.get(kind, []))}
        operation = (
            pl.col("word").replace_strict(numbers, default=0, return_dtype=pl.Int64) if numbers else pl.lit(0)
        )
        return rows.select(
            pl.lit(size).alias("size"),
            pl.lit(BUFFER_KINDS.index(kind)).alias("kind"),
            operation.cast(pl.Int64).alias("operation"),
            _number("tid").alias("thread_id"),
            _correlation(),
            *_times(),
            *more,
        )

    def _with_kernel(self, rows: pl.DataFrame) -> pl.DataFrame:
        key = ["kernel", *REGISTERS]
        numbers = self.symbols.select(*key, "kernel_id").unique(key, keep="first", maintain_order=True)
        dispatches = rows.with_columns(_number(name) for name in REGISTERS)
        return dispatches.join(numbers, on=key, how="left", maintain_order="left")


def _numbered(ranges: pl.DataFrame, free: int) -> pl.DataFrame:
    """The ranges, each with its own correlation id, by which its message is looked up."""
    own = pl.col("correlation_id")
    needs_id = own.is_null() | (own == 0) | ~own.is_first_distinct()
    return ranges.with_columns(
        pl.when(needs_id)
        .then(needs_id.cast(pl.Int64).cum_sum() + (free - 1))
        .otherwise(own)
        .alias("correlation_id")
    )


def _arguments(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that is never closed
        return [command]


def _number(column: str) -> pl.Expr:
    return pl.col(column).fill_null(0)


def _times() -> list[pl.Expr]:
    return [_number("start_ns").alias("start_timestamp"), _number("end_ns").alias("end_timestamp")]


def _correlation() -> pl.Expr:
    return pl.struct(_number("correlation_id").alias("internal"), pl.lit(0).alias("external")).alias(
        "correlation_id"
    )


def _stream() -> pl.Expr:
    return pl.struct(handle=_number("stream_id")).alias("stream_id")


def _agent(column: str, name: str) -> pl.Expr:
    return pl.struct(handle=(pl.col(column) + FIRST_HANDLE).fill_null(0)).alias(name)


def _address() -> pl.Expr:
    def shown(addresses: pl.Series) -> pl.Series:
        return pl.Series(["" if value is None else f"0x{value:x}" for value in addresses], dtype=pl.String)

    return pl.col("address").map_batches(shown, return_dtype=pl.String)


def _dispatch_info() -> pl.Expr:
    def size(name: str) -> pl.Expr:
        return pl.struct(_number(f"{name}_{axis}").alias(axis) for axis in "xyz").alias(f"{name}_size")

    return pl.struct(
        pl.lit(72).alias("size"),
        _agent("agent_id", "agent_id"),
        pl.struct(handle=_number("queue_id")).alias("queue_id"),
        _number("kernel_id"),
        _number("dispatch_id"),
        _number("scratch_bytes").alias("private_segment_size"),
        _number("lds_bytes").alias("group_segment_size"),
        size("workgroup"),
        size("grid"),
    ).alias("dispatch_info")
