"""What a profiler would have recorded of a run, as the same Trace that any recording becomes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import polars as pl

from rocm_perf.model import schema
from rocm_perf.model.run import SIMULATOR, RunInfo
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import START_NS, Item, Run
from rocm_perf.sim.samples import samples
from rocm_perf.version import __version__

HOST = "sim-node"
FIRST_PID = 4000
_KERNELS = ("kernel", "collective")
FIRST_GPU = 2  # HSA node index: two CPU sockets come first


def record(run: Run) -> Trace:
    """The Trace of a run, with every table that it fills."""
    tables = {
        "dispatches": _dispatches(run),
        "api_calls": _calls(run.calls, {"domain": "domain", "name": "name"}),
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
    kept = {name: schema.conform(name, _ranked(run, frame)) for name, frame in tables.items() if frame.height}
    return Trace(
        kept,
        RunInfo(
            tool=SIMULATOR,
            tool_version=__version__,
            formats=("simulated",),
            hosts=(HOST,),
            command=_command(run),
            clock="boot",
            asked=("kernel", "hip", "copy", "marker"),
        ),
    )


def _ranked(run: Run, frame: pl.DataFrame) -> pl.DataFrame:
    """The table with the rank of each row's process if the run has several; a single process has no rank."""
    if "pid" not in frame.columns or not _distributed(run):
        return frame.drop("rank", strict=False)
    return frame.with_columns((pl.col("pid") - FIRST_PID).alias("rank"))


def pid_of(rank: int) -> int:
    """The process id of a rank."""
    return FIRST_PID + rank


def agent_of(rank: int) -> int:
    """The agent id of the GPU of a rank."""
    return FIRST_GPU + rank


def is_kernel(item: Item) -> bool:
    """Whether the item is recorded as a kernel; a collective is."""
    return item.kind in _KERNELS


def kernel_name(item: Item) -> str:
    """The name that a profiler records for a kernel or a collective."""
    return (
        item.name
        if item.kind == "kernel"
        else f"ncclDevKernel_{item.name.title().replace('_', '')}(ncclDevComm*)"
    )


def _command(run: Run) -> str:
    return run.workload.command or run.workload.name


def _distributed(run: Run) -> bool:
    return len(run.workload.ranks) > 1


# The columns of a table: where in a node each value is, as attributes joined by dots.
Columns = dict[str, str]


def _frame(nodes: Sequence[object], columns: Columns) -> pl.DataFrame:
    """Attributes of many nodes as columns, without Python code per node: there can be millions."""
    return pl.DataFrame(
        {name: list(map(attrgetter(path), nodes)) for name, path in columns.items()}, infer_schema_length=None
    )


def _whole(column: str) -> pl.Expr:
    """A column of integers, even if it has no rows."""
    return pl.col(column).cast(pl.Int64)


_PROCESS = (FIRST_PID + _whole("rank")).alias("pid")
_THREAD = (FIRST_PID + _whole("rank") + 1000 * _whole("thread")).alias("tid")
_CALL: Columns = {
    "start_ns": "start",
    "end_ns": "end",
    "rank": "thread.rank",
    "thread": "thread.number",
    "correlation_id": "number",
}
_ITEM: Columns = {
    "start_ns": "start",
    "end_ns": "end",
    "stream_id": "stream.number",
    "rank": "stream.device.rank",
    "thread_rank": "call.thread.rank",
    "thread": "call.thread.number",
    "correlation_id": "call.number",
}


def _calls(calls: Sequence[object], columns: Columns) -> pl.DataFrame:
    return _frame(calls, {**columns, **_CALL}).with_columns(_PROCESS, _THREAD).drop("thread")


def _items(items: list[Item], columns: Columns) -> pl.DataFrame:
    """What streams did, with the GPU, queue, process and thread of each item."""
    placed = _frame(items, {**columns, **_ITEM}).with_columns(
        (FIRST_GPU + _whole("rank")).alias("agent_id"),
        (_whole("stream_id") + 1).alias("queue_id"),
        _PROCESS,
        (FIRST_PID + _whole("thread_rank") + 1000 * _whole("thread")).alias("tid"),
    )
    return placed.drop("thread", "thread_rank")


def _dispatches(run: Run) -> pl.DataFrame:
    """The kernels in the order in which they start, numbered within their process."""
    items = [item for item in run.items if is_kernel(item)]
    rows = _items(items, {"kind": "kind", "kernel": "name", "graph_id": "graph", "number": "number"})
    rows = rows.with_columns(pl.Series("object", [id(item.kernel) for item in items], dtype=pl.UInt64))
    named = {item.name: kernel_name(item) for item in items if item.kind != "kernel"}
    rows = rows.sort("pid", "start_ns", "number").with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("pid").alias("dispatch_id"),
        pl.when(pl.col("graph_id") != 0).then("graph_id").alias("graph_id"),
        pl.when(pl.col("kind") == "kernel")
        .then("kernel")
        .otherwise(pl.col("kernel").replace(named))
        .alias("kernel"),
    )
    return rows.join(_shapes(run), on="object", how="left", maintain_order="left").drop(
        "kind", "object", "number"
    )


def _shapes(run: Run) -> pl.DataFrame:
    """The grid, workgroup and resources that every dispatch of a kernel has; a collective has those of RCCL."""
    resources = ("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")
    rows = []
    for kernel in (None, *run.workload.kernels.values()):
        grid, workgroup = (kernel.grid, kernel.workgroup) if kernel else ((16384, 1, 1), (512, 1, 1))
        rows.append(
            {
                "object": id(kernel),
                **{f"grid_{axis}": size for axis, size in zip("xyz", grid, strict=True)},
                **{f"workgroup_{axis}": size for axis, size in zip("xyz", workgroup, strict=True)},
                **{name: getattr(kernel, name) if kernel else 0 for name in resources},
            }
        )
    return pl.DataFrame(rows, schema_overrides={"object": pl.UInt64}).unique(
        "object", keep="first", maintain_order=True
    )


def _copies(run: Run) -> pl.DataFrame:
    rows = _items(
        [item for item in run.items if item.kind == "copy"], {"kind": "name", "size_bytes": "size_bytes"}
    )
    host, device = pl.lit(0, pl.Int64), pl.col("agent_id")
    return rows.with_columns(
        pl.when(pl.col("kind") == "H2D").then(host).otherwise(device).alias("src_agent"),
        pl.when(pl.col("kind") == "D2H").then(host).otherwise(device).alias("dst_agent"),
    )


def _collectives(run: Run) -> pl.DataFrame:
    rows = _items(
        [item for item in run.items if item.kind == "collective"],
        {"name": "name", "size_bytes": "size_bytes", "collective_id": "last_member.number"},
    )
    return rows.with_columns(group_size=pl.lit(len(run.workload.ranks), pl.Int64))


def _allocations(run: Run) -> pl.DataFrame:
    calls = [call for call, _, _ in run.allocations]
    rows = _calls(calls, {})
    return rows.with_columns(
        (FIRST_GPU + _whole("rank")).alias("agent_id"),
        pl.Series("operation", [operation for _, operation, _ in run.allocations], dtype=pl.String),
        pl.Series("size_bytes", [size for _, _, size in run.allocations], dtype=pl.Int64),
    )


_HOST: Columns = {
    "name": "name",
    "start_ns": "start",
    "end_ns": "end",
    "rank": "thread.rank",
    "thread": "thread.number",
}


def _host(nodes: Sequence[object], columns: Columns | None = None) -> pl.DataFrame:
    return _frame(nodes, {**_HOST, **(columns or {})}).with_columns(_PROCESS, _THREAD).drop("thread", "rank")


def _ranges(run: Run) -> pl.DataFrame:
    ranges = sorted(run.ranges, key=lambda entry: (entry.start, entry.depth))
    return _host(ranges, {"depth": "depth"}).with_columns(source=pl.lit("roctx"))


def _ops(run: Run) -> pl.DataFrame:
    return _host(run.host_work).with_columns(category=pl.lit("operator"))


def _links(run: Run) -> pl.DataFrame:
    columns = {
        "rank": "stream.device.rank",
        "cause_ns": "waits_for.end",
        "cause_track": "waits_for.stream.number",
        "effect_ns": "end",
        "effect_track": "stream.number",
    }
    rows = _frame([item for item in run.items if item.waits_for is not None], columns)
    return rows.with_columns(_PROCESS, kind=pl.lit("event"), known=pl.lit("recorded")).drop("rank")


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
    names = ("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")
    rows = _frame(list(run.workload.kernels.values()), {"kernel": "name", **{name: name for name in names}})
    rows = rows.unique("kernel", keep="first", maintain_order=True)
    return rows.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("kernel_id"))


def _processes(run: Run) -> pl.DataFrame:
    rows = [
        {
            "pid": pid_of(rank),
            "rank": rank if _distributed(run) else None,
            "ppid": 1,
            "command": _command(run),
            "start_ns": START_NS,
            "end_ns": START_NS + run.wall_ns,
        }
        for rank in run.workload.ranks
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
