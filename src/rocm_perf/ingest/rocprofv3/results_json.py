"""rocprofv3 JSON (`<prefix>_results.json`): every table of one run, several processes in one document.

json_records turns the records into tables; this module reads the document, and what it says about agents, kernels,
counters and processes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NoReturn

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError, NotARecordingError
from rocm_perf.ingest import agents
from rocm_perf.ingest.io import json
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprofv3 import json_records
from rocm_perf.ingest.rocprofv3.json_records import Names, integers, kernel_name, names_of, texts
from rocm_perf.ingest.rocprofv3.json_types import Agent, Document, Metadata, Process
from rocm_perf.model.run import Loss
from rocm_perf.model.schema import SCHEMAS

# A table's name, its rows, and the columns that a row must have.
Piece = tuple[str, pl.DataFrame, tuple[str, ...]]

_KEY = "rocprofiler-sdk-tool"
_KINDS = {1: "CPU", 2: "GPU"}  # rocprofiler_agent_type_t
_DEVICE_HEAPS = (1, 2)  # frame buffer, public and private
_API_KEYS = ("hip_api", "hsa_api", "rccl_api", "rocdecode_api", "rocjpeg_api", "hipfile_api")
_EVENTS = ("dispatches", "counters", "api_calls", "ranges", "copies", "allocations", "scratch", "pc_samples")
_SPAN = ("start_ns", "end_ns")


def read_results(source: Source) -> Part:
    """The tables of all processes in the document."""
    document, damage = json.decode(source, Document)
    losses = [Loss(source.name, damage)] if damage else []
    pieces: dict[str, list[pl.DataFrame]] = {}
    for process in document.processes:
        for table, frame, essential in _pieces(process):
            whole, lost = drop_incomplete(frame, essential, source.name)
            losses += lost
            if whole.height:
                pieces.setdefault(table, []).append(_of_process(table, whole, process.metadata.pid))
    if not pieces.keys() & set(_EVENTS):
        raise _nothing_recorded(source, damage)
    tables = {table: pl.concat(frames, how="diagonal_relaxed") for table, frames in pieces.items()}
    if "agents" in tables:
        tables["agents"] = tables["agents"].unique("agent_id", keep="first", maintain_order=True)
    return part("rocprofv3", tables, losses, **_facts(document.processes))


def refuse_schema(source: Source) -> NoReturn:
    raise NotARecordingError(
        f"{source.name} is AMD's JSON schema of rocprofv3's output, not a recording",
        next_step="Give the <prefix>_results.json that `rocprofv3 --output-format json` wrote.",
    )


def _pieces(process: Process) -> Iterator[Piece]:
    names = names_of(process)
    yield from _gpu_work(process, names)
    yield from _host_work(process, names)
    yield "agents", _agents(process.agents), ("agent_id",)
    yield "kernels", _kernels(process), ("kernel",)
    yield "counter_info", _counter_info(process, names), ("counter",)
    yield "processes", _process(process.metadata), ("pid",)


def _gpu_work(process: Process, names: Names) -> Iterator[Piece]:
    buffers, counted = process.buffer_records, process.callback_records.counter_collection
    traced = json_records.dispatches(buffers.kernel_dispatch, names)
    yield "dispatches", traced, ("kernel", *_SPAN)
    only_counted = json_records.dispatches_of_counters(counted, names).join(
        traced.select("dispatch_id"), on="dispatch_id", how="anti", maintain_order="left"
    )
    yield "dispatches", only_counted, ("kernel", "dispatch_id")
    yield "counters", json_records.counters(counted, names), ("dispatch_id", "counter", "value")
    yield "copies", json_records.copies(buffers.memory_copy, names), _SPAN
    yield "scratch", json_records.scratch(buffers.scratch_memory, names), ("operation", *_SPAN)
    for method, samples in (
        ("host_trap", buffers.pc_sample_host_trap),
        ("stochastic", buffers.pc_sample_stochastic),
    ):
        yield (
            "pc_samples",
            json_records.pc_samples(samples, process, names, method),
            ("time_ns", "dispatch_id"),
        )


def _host_work(process: Process, names: Names) -> Iterator[Piece]:
    buffers = process.buffer_records
    for key in _API_KEYS:
        yield "api_calls", json_records.api_calls(getattr(buffers, key), names), ("domain", "name", *_SPAN)
    yield "ranges", json_records.ranges(buffers.marker_api, names), ("name", *_SPAN)
    yield "allocations", json_records.allocations(buffers.memory_allocation, names), ("operation", *_SPAN)


def _agents(listed: list[Agent]) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "agent_id": integers(
                position if agent.node_id is None else agent.node_id for position, agent in enumerate(listed)
            ),
            "kind": texts(_KINDS.get(agent.type or 0) for agent in listed),
            "gfx_name": texts(agent.name for agent in listed),
            "target": integers(agent.gfx_target_version for agent in listed),
            "product": texts(agent.product_name for agent in listed),
            "model": texts(agent.model_name for agent in listed),
            "vendor": texts(agent.vendor_name or None for agent in listed),
            "logical_index": integers(agent.logical_node_type_id for agent in listed),
            "cu_count": integers(agent.cu_count for agent in listed),
            "simd_count": integers(agent.simd_count for agent in listed),
            "xcc_count": integers(agent.num_xcc for agent in listed),
            "wave_size": integers(agent.wave_front_size for agent in listed),
            "max_waves_per_simd": integers(agent.max_waves_per_simd for agent in listed),
            "lds_kb": integers(agent.lds_size_in_kb for agent in listed),
            "memory_bytes": integers(_memory_bytes(agent) for agent in listed),
            "clock_mhz": integers(agent.max_engine_clk_fcompute for agent in listed),
        }
    )
    return frame.with_columns(
        agents.gfx_of_target_version(pl.col("target"), pl.col("gfx_name")).alias("gfx"),
        agents.first_known(frame, "product", "model").alias("name"),
        (1024 * pl.col("lds_kb")).alias("lds_bytes"),
        agents.positive(pl.col("clock_mhz")),
    ).drop("gfx_name", "target", "product", "model", "lds_kb")


def _memory_bytes(agent: Agent) -> int | None:
    """Device memory; releases that leave `local_mem_size` at 0 still list the banks."""
    banks = sum(bank.size_in_bytes or 0 for bank in agent.mem_banks if bank.heap_type in _DEVICE_HEAPS)
    return agent.local_mem_size or banks or None


def _kernels(process: Process) -> pl.DataFrame:
    symbols = [symbol for symbol in process.kernel_symbols if symbol.kernel_name]  # entry 0 stands for "none"
    uris = {code.code_object_id: code.uri or None for code in process.code_objects}
    return pl.DataFrame(
        {
            "kernel_id": integers(symbol.kernel_id for symbol in symbols),
            "kernel": texts(kernel_name(symbol) for symbol in symbols),
            "symbol": texts(symbol.kernel_name.removesuffix(".kd") for symbol in symbols),
            "code_object": integers(symbol.code_object_id for symbol in symbols),
            "code_object_uri": texts(uris.get(symbol.code_object_id) for symbol in symbols),
            "kernarg_bytes": integers(symbol.kernarg_segment_size for symbol in symbols),
            "lds_bytes": integers(symbol.group_segment_size for symbol in symbols),
            "scratch_bytes": integers(symbol.private_segment_size for symbol in symbols),
            "vgprs": integers(symbol.arch_vgpr_count for symbol in symbols),
            "agprs": integers(symbol.accum_vgpr_count for symbol in symbols),
            "sgprs": integers(symbol.sgpr_count for symbol in symbols),
        }
    )


def _counter_info(process: Process, names: Names) -> pl.DataFrame:
    counters = [counter for counter in process.counters if counter.name]
    gfx = {agent.id.handle: agent.name or None for agent in process.agents}
    return pl.DataFrame(
        {
            "gfx": texts(gfx.get(counter.agent_id.handle) for counter in counters),
            "agent_id": integers(names.agent(counter.agent_id) for counter in counters),
            "counter": texts(counter.name for counter in counters),
            "block": texts(counter.block or None for counter in counters),
            "expression": texts(counter.expression or None for counter in counters),
            "description": texts(counter.description or None for counter in counters),
            "derived": pl.Series(
                [None if counter.is_derived is None else bool(counter.is_derived) for counter in counters],
                dtype=pl.Boolean,
            ),
        }
    )


def _process(metadata: Metadata) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "pid": integers([metadata.pid]),
            "command": texts([_command(metadata)]),
            "start_ns": integers([metadata.init_time or None]),
            "end_ns": integers([metadata.fini_time or None]),
        }
    )


def _command(metadata: Metadata) -> str | None:
    command = metadata.command
    return (command if isinstance(command, str) else shlex.join(command)) or None


def _of_process(table: str, frame: pl.DataFrame, pid: int | None) -> pl.DataFrame:
    if "pid" not in SCHEMAS[table].dtypes:
        return frame
    return frame.with_columns(pl.lit(integers([pid]).item(), pl.Int64).alias("pid"))


def _facts(processes: list[Process]) -> dict[str, object]:
    first = processes[0].metadata
    os = " ".join(text for text in (first.node.system_name, first.node.release) if text)
    return {
        "host": first.node.hostname,
        "os": os or None,
        "pid": integers([first.pid]).item() if len(processes) == 1 else None,
        "command": _command(first),
        "clock": "boot",
    }


def _nothing_recorded(source: Source, damage: str | None) -> EmptyCaptureError | InputError:
    if damage:
        return InputError(
            f"{source.name} ends before its first record", damage, "Copy it again from its machine."
        )
    return EmptyCaptureError(
        f"{source.name} holds no records",
        "rocprofv3 traced this process, but nothing of it ran on a GPU or called a traced API",
    )


def _claims_results(peek: Peek) -> bool:
    return _KEY in peek.json_keys


def _claims_schema(peek: Peek) -> bool:
    return "$schema" in peek.json_keys and f'"{_KEY}"' in peek.text


ADAPTERS = (
    Adapter(
        name="rocprofv3-json",
        title="rocprofv3 results.json",
        recognised_by=f"JSON with the key {_KEY}",
        claims=_claims_results,
        read=read_results,
        fills=(*_EVENTS, "agents", "kernels", "counter_info", "processes"),
    ),
    Adapter(
        name="rocprofv3-json-schema",
        title="AMD's JSON schema of rocprofv3 (refused: not a recording)",
        recognised_by="JSON with the key $schema",
        claims=_claims_schema,
        read=refuse_schema,
    ),
)
