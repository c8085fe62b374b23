"""What a profiler would have recorded of a run: a Trace, as any recording becomes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from rocm_perf import __version__
from rocm_perf.model import schema
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import START_NS, Call, HostThread, Item, Run
from rocm_perf.sim.samples import samples

HOST = "sim-node"
FIRST_PID = 4000
FIRST_GPU = 2  # HSA node index: two CPU sockets come first


def record(run: Run) -> Trace:
    """Every table that the run fills."""
    tables = {
        "dispatches": _dispatches(run),
        "api_calls": _frame(run.calls, _call_columns()),
        "copies": _copies(run),
        "collectives": _collectives(run),
        "allocations": _allocations(run),
        "ranges": _ranges(run),
        "ops": _ops(run),
        "links": _links(run),
        "agents": _agents(run),
        "kernels": _kernels(run),
        "samples": samples(run),
        "nodes": pl.DataFrame({"node": [0], "host": [HOST], "os": ["simulated"], "clock": ["boot"]}),
        "processes": _processes(run),
    }
    kept = {name: schema.conform(name, frame) for name, frame in tables.items() if frame.height}
    return Trace(kept, RunInfo("rocm-perf sim", __version__, ("simulated",), (HOST,), _command(run), "boot", ("kernel", "hip", "copy", "marker")))


def pid_of(rank: int) -> int:
    return FIRST_PID + rank


def tid_of(thread: HostThread) -> int:
    return pid_of(thread.rank) + 1000 * thread.number


def agent_of(rank: int) -> int:
    return FIRST_GPU + rank


def is_kernel(item: Item) -> bool:
    return item.kind in ("kernel", "collective")


def kernel_name(item: Item) -> str:
    return item.name if item.kind == "kernel" else f"ncclDevKernel_{item.name.title().replace('_', '')}(ncclDevComm*)"


def _command(run: Run) -> str:
    return run.workload.command or run.workload.name


def _distributed(run: Run) -> bool:
    return len(run.workload.ranks) > 1


Columns = dict[str, Callable[[Any], object]]


def _frame(nodes: list[Any], columns: Columns) -> pl.DataFrame:
    return pl.DataFrame({name: [value(node) for node in nodes] for name, value in columns.items()}, infer_schema_length=None)


def _call_columns() -> Columns:
    return {
        "domain": lambda call: call.domain,
        "name": lambda call: call.name,
        "start_ns": lambda call: call.start,
        "end_ns": lambda call: call.end,
        "pid": lambda call: pid_of(call.thread.rank),
        "tid": lambda call: tid_of(call.thread),
        "rank": lambda call: call.thread.rank,
        "correlation_id": lambda call: call.number,
    }


def _item_columns(run: Run) -> Columns:
    columns: Columns = {
        "start_ns": lambda item: item.start,
        "end_ns": lambda item: item.end,
        "agent_id": lambda item: agent_of(item.stream.device.rank),
        "queue_id": lambda item: item.stream.number + 1,
        "stream_id": lambda item: item.stream.number,
        "pid": lambda item: pid_of(item.stream.device.rank),
        "tid": lambda item: tid_of(item.call.thread),
        "correlation_id": lambda item: item.call.number,
    }
    if _distributed(run):
        columns["rank"] = lambda item: item.stream.device.rank
    return columns


def _dispatches(run: Run) -> pl.DataFrame:
    items = sorted((item for item in run.items if is_kernel(item)), key=lambda item: (item.stream.device.rank, item.start, item.number))
    numbers, counts = {}, dict.fromkeys(run.workload.ranks, 0)
    for item in items:
        counts[item.stream.device.rank] += 1
        numbers[id(item)] = counts[item.stream.device.rank]
    resources = ("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")
    columns: Columns = {
        "dispatch_id": lambda item: numbers[id(item)],
        "kernel": kernel_name,
        **_item_columns(run),
        "graph_id": lambda item: item.graph or None,
        **{f"grid_{axis}": _size("grid", place) for place, axis in enumerate("xyz")},
        **{f"workgroup_{axis}": _size("workgroup", place) for place, axis in enumerate("xyz")},
        **{name: _resource(name) for name in resources},
    }
    return _frame(items, columns)


_COLLECTIVE_GRID = {"grid": (16384, 1, 1), "workgroup": (512, 1, 1)}


def _size(name: str, place: int) -> Callable[[Item], int]:
    return lambda item: (getattr(item.kernel, name) if item.kernel else _COLLECTIVE_GRID[name])[place]


def _resource(name: str) -> Callable[[Item], int]:
    return lambda item: getattr(item.kernel, name) if item.kernel else 0


def _copies(run: Run) -> pl.DataFrame:
    gpu = {"H2D": (False, True), "D2H": (True, False), "D2D": (True, True)}
    columns: Columns = {
        "kind": lambda item: item.name,
        "size_bytes": lambda item: item.size_bytes,
        "src_agent": lambda item: agent_of(item.stream.device.rank) if gpu[item.name][0] else 0,
        "dst_agent": lambda item: agent_of(item.stream.device.rank) if gpu[item.name][1] else 0,
        **_item_columns(run),
    }
    return _frame([item for item in run.items if item.kind == "copy"], columns)


def _collectives(run: Run) -> pl.DataFrame:
    ranks = len(run.workload.ranks)
    columns: Columns = {
        "name": lambda item: item.name,
        "size_bytes": lambda item: item.size_bytes,
        "group_size": lambda item: ranks,
        **_item_columns(run),
    }
    return _frame([item for item in run.items if item.kind == "collective"], columns)


def _allocations(run: Run) -> pl.DataFrame:
    def of_call(value: Callable[[Call], object]) -> Callable[[tuple[Call, str, int]], object]:
        return lambda entry: value(entry[0])

    calls = _call_columns()
    shared = ("start_ns", "end_ns", "pid", "tid", "rank", "correlation_id")
    columns: Columns = {
        "operation": lambda entry: entry[1],
        "size_bytes": lambda entry: entry[2],
        "agent_id": lambda entry: agent_of(entry[0].thread.rank),
        **{name: of_call(calls[name]) for name in shared},
    }
    return _frame(run.allocations, columns)


def _host_columns() -> Columns:
    return {
        "name": lambda work: work.name,
        "start_ns": lambda work: work.start,
        "end_ns": lambda work: work.end,
        "pid": lambda work: pid_of(work.thread.rank),
        "tid": lambda work: tid_of(work.thread),
    }


def _ranges(run: Run) -> pl.DataFrame:
    columns = {**_host_columns(), "depth": lambda entry: entry.depth, "source": lambda _: "roctx"}
    return _frame(sorted(run.ranges, key=lambda entry: (entry.start, entry.depth)), columns)


def _ops(run: Run) -> pl.DataFrame:
    return _frame(run.host_work, {**_host_columns(), "category": lambda _: "operator"})


def _links(run: Run) -> pl.DataFrame:
    waits = [item for item in run.items if item.waits_for is not None]
    columns: Columns = {
        "kind": lambda _: "event",
        "known": lambda _: "recorded",
        "pid": lambda item: pid_of(item.stream.device.rank),
        "cause_ns": lambda item: item.waits_for.end,
        "cause_track": lambda item: item.waits_for.stream.number,
        "effect_ns": lambda item: item.end,
        "effect_track": lambda item: item.stream.number,
    }
    return _frame(waits, columns)


def _agents(run: Run) -> pl.DataFrame:
    gpu = run.gpu
    cpu = {"agent_id": 0, "kind": "CPU", "name": "simulated CPU", "vendor": "CPU", "logical_index": 0}
    gpus = [
        {
            "agent_id": agent_of(rank),
            "kind": "GPU",
            "gfx": gpu.gfx,
            "name": gpu.name,
            "vendor": "AMD",
            "logical_index": rank,
            "cu_count": gpu.compute_units,
            "simd_count": gpu.simds,
            "xcc_count": gpu.dies,
            "wave_size": gpu.wave_size,
            "max_waves_per_simd": gpu.max_waves_per_simd,
            "lds_bytes": gpu.lds_bytes,
            "memory_bytes": gpu.memory_bytes,
            "clock_mhz": float(gpu.clock_mhz),
        }
        for rank in run.workload.ranks
    ]
    return pl.DataFrame([cpu, {**cpu, "agent_id": 1, "logical_index": 1}, *gpus], infer_schema_length=None)


def _kernels(run: Run) -> pl.DataFrame:
    kernels = list(run.workload.kernels.values())
    columns: Columns = {
        "kernel": lambda kernel: kernel.name,
        **{name: (lambda kernel, name=name: getattr(kernel, name)) for name in ("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")},
    }
    return _frame(kernels, columns).with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("kernel_id"))


def _processes(run: Run) -> pl.DataFrame:
    rows = [
        {"pid": pid_of(rank), "rank": rank if _distributed(run) else None, "ppid": 1, "command": _command(run), "start_ns": START_NS, "end_ns": START_NS + run.wall_ns}
        for rank in run.workload.ranks
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
