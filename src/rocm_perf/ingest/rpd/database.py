"""RPD, the SQLite database of rocmProfileData, schema 2 and 3.

Its tables are called rocpd_* too, but they are not those of rocprofv3: an `api` is a call, an `op` is
what a GPU did, and api_ops says which call caused which op. That call's id is our correlation id.
"""

from __future__ import annotations

import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.io.sqlite import open_database
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocpd.tables import MAIN_TABLE, Lookup, Run, stated
from rocm_perf.ingest.rpd import calls as rpd_calls

_OP = ("id", "gpuId", "queueId", "start", "end", "description_id", "opType_id")
_AXES = tuple((size, axis) for size in ("grid", "workgroup") for axis in "XYZ")
_COPY_KINDS = {0: "H2H", 1: "H2D", 2: "D2H", 3: "D2D"}  # hipMemcpyKind; 4 is "see the addresses"
# These take work-items; every other launch takes blocks.
_LAUNCHED_BY_ITEMS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")
# `graphExec = 0x24922d90 | stream = 0x0`: of a graph, only the arguments of its launch say where it runs.
_STREAM_ARGUMENT = r"\bstream\s*=\s*(0x[0-9a-fA-F]+)"
_EPOCH_NS = 10**18  # a clock that counts from boot gets there in 31 years

SENSORS = {
    "sclk": ("clock_mhz", "MHz"),
    "mclk": ("memory_clock_mhz", "MHz"),
    "power": ("power_w", "W"),
    "temp": ("temperature_c", "C"),
}


def read(source: Source) -> Part:
    with open_database(source) as database:
        run = Run(database, "")
        calls = rpd_calls.calls(run)
        ops = _ops(run, calls)
        tables = {
            **rpd_calls.tables(calls),
            "dispatches": _dispatches(
                run, ops.filter(pl.col("kind") == "kernel"), rpd_calls.by_rocprofiler(calls)
            ),
            "copies": _copies(run, ops.filter(pl.col("kind") == "copy")),
            "links": _signals(run, ops),
            "counters": _counters(run, ops),
            "samples": _samples(run),
        }
    if not any(table.height for table in tables.values()):
        if run.losses:
            raise InputError(f"{source.name} is an RPD file, but it cannot be read", run.losses[0].what)
        raise EmptyCaptureError(
            f"{source.name} is an RPD file without any record", "the tracer saw no call and no kernel"
        )
    pids = calls["pid"].drop_nulls().unique()
    return part(
        "rocmProfileData",
        tables,
        run.losses,
        clock=clock_of(ops["start_ns"], calls["start_ns"]),
        pid=pids[0] if pids.len() == 1 else None,
        notices=_notices(tables),
    )


def clock_of(*times: pl.Series) -> str:
    """The clock, boot or epoch: the size of the times leaves only one."""
    last = pl.concat([series.cast(pl.Int64) for series in times]).max()
    return "epoch" if isinstance(last, int) and last > _EPOCH_NS else "boot"


def op_kind(op_type: pl.Expr) -> pl.Expr:
    """The kind of an op (kernel, copy, barrier or null) by its type (KernelExecution, CopyHostToDevice, FillBuffer,
    ...)."""
    upper = op_type.str.to_uppercase()
    return (
        pl.when(upper.str.contains("KERNEL|DISPATCH|^TASK$"))
        .then(pl.lit("kernel"))
        .when(upper.str.contains("COPY|MEMCPY|FILL|MEMSET"))
        .then(pl.lit("copy"))
        .when(upper.str.contains("BARRIER|MARKER"))
        .then(pl.lit("barrier"))
    )


def _ops(run: Run, calls: pl.DataFrame) -> pl.DataFrame:
    """What the GPUs did, with the call that caused it."""
    raw = run.timed("op", _OP)
    strings = _string_table(run)
    causes = Lookup(run.frame("api_ops", ["op_id", "api_id"]), "op_id").column(raw["id"], "api_id")
    call = Lookup(calls, "id").get(causes, "pid", "tid", "name", "arguments")
    ops = raw.select(
        pl.col("id").alias("dispatch_id"),
        pl.col("gpuId").alias("agent_id"),
        pl.col("queueId").alias("queue_id"),
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        strings.column(raw["description_id"], "kernel").alias("description"),
        causes.alias("correlation_id"),
    )
    ops = ops.hstack(strings.get(raw["opType_id"], "string", "kind").rename({"string": "type"}))
    named = pl.col("arguments").str.extract(_STREAM_ARGUMENT).alias("argument_stream")
    ops = ops.hstack(call.rename({"name": "function"})).with_columns(named).drop("arguments")
    _lose_unknown(run, ops)
    return ops


def _string_table(run: Run) -> Lookup:
    """The string table, with each string read as the name of a kernel and as the type of an op."""
    name = domains.kernel_name(stated("string"))
    return Lookup(run.strings.frame.with_columns(kernel=name, kind=op_kind(pl.col("string"))))


def _lose_unknown(run: Run, ops: pl.DataFrame) -> None:
    unknown = ops.filter(pl.col("kind").is_null())
    if unknown.height:
        types = ", ".join(str(name) for name in unknown["type"].unique().sort()[:3])
        run.lose(f"GPU operations of unknown type ({types})", unknown.height)


_GPU_SPAN = ("start_ns", "end_ns", "agent_id", "queue_id", "stream_id", "pid", "tid", "correlation_id")


def _dispatches(run: Run, ops: pl.DataFrame, by_rocprofiler: bool) -> pl.DataFrame:
    """Kernels. A launch gives the grid of its own kernel only, not of others that it caused (a graph)."""
    code = run.frame("kernelcodeobject", ["id", "vgpr", "sgpr"])
    sizes = ["groupSegmentSize", "privateSegmentSize", *(f"{size}{axis}" for size, axis in _AXES)]
    table = run.frame(
        "kernelapi",
        ["api_ptr_id", "kernelName_id", *sizes, *(["codeObject_id"] if code.height else [])],
        texts=["stream"],
    )
    table = table.with_columns(_string_table(run).column(table["kernelName_id"], "kernel").alias("launched"))
    if code.height:
        table = table.hstack(Lookup(code).get(table["codeObject_id"], "vgpr", "sgpr"))
    launch_columns = [name for name in table.columns if name != "api_ptr_id"]
    rows = ops.hstack(Lookup(table, "api_ptr_id").get(ops["correlation_id"], *launch_columns))
    own = pl.col("description").is_null() | (pl.col("description") == pl.col("launched"))
    of_one_kernel = [name for name in launch_columns if name != "stream"]
    rows = rows.with_columns(pl.when(own).then(pl.col(name)).alias(name) for name in of_one_kernel)
    items = pl.lit(by_rocprofiler) | pl.col("function").is_in(_LAUNCHED_BY_ITEMS)
    # roctracer saw only the dynamic part of LDS, and no scratch.
    memory = (
        {"lds_bytes": "groupSegmentSize", "scratch_bytes": "privateSegmentSize"} if by_rocprofiler else {}
    )
    registers = {"vgprs": "vgpr", "sgprs": "sgpr"} if code.height else {}
    return rows.with_columns(_stream()).select(
        "dispatch_id",
        pl.coalesce("description", "launched", "type").alias("kernel"),
        *_GPU_SPAN,
        *(_items(axis, items).alias(f"grid_{axis.lower()}") for axis in "XYZ"),
        *(pl.col(f"workgroup{axis}").alias(f"workgroup_{axis.lower()}") for axis in "XYZ"),
        *(pl.col(column).alias(ours) for ours, column in (memory | registers).items()),
    )


def _items(axis: str, items: pl.Expr) -> pl.Expr:
    grid = pl.col(f"grid{axis}")
    return pl.when(items).then(grid).otherwise(grid * pl.col(f"workgroup{axis}"))


def _copies(run: Run, ops: pl.DataFrame) -> pl.DataFrame:
    """Copies and fills. A call that made several copies gives their bytes as one sum."""
    table = run.frame("copyapi", ["api_ptr_id", "size", "kind"], texts=["stream"]).rename({"kind": "number"})
    rows = ops.hstack(Lookup(table, "api_ptr_id").get(ops["correlation_id"], "size", "number", "stream"))
    described = domains.copy_kind(pl.concat_str("type", "description", separator=" ", ignore_nulls=True))
    numbered = pl.col("number").replace_strict(_COPY_KINDS, default="UNKNOWN", return_dtype=pl.String)
    alone = pl.len().over("correlation_id") == 1
    return rows.with_columns(_stream()).select(
        pl.when(described != "UNKNOWN")
        .then(described)
        .otherwise(numbered)
        .fill_null("UNKNOWN")
        .alias("kind"),
        pl.when(alone).then(pl.col("size")).alias("size_bytes"),
        *_GPU_SPAN,
    )


def _stream() -> pl.Expr:
    """The number of the stream, which is identified by its address (`0x7f...`)."""
    digits = (
        pl.col(name).str.to_lowercase().str.strip_prefix("0x") for name in ("stream", "argument_stream")
    )
    numbers = (text.str.to_integer(base=16, strict=False, dtype=pl.Int64) for text in digits)
    return pl.coalesce(*numbers).alias("stream_id")


def _signals(run: Run, ops: pl.DataFrame) -> pl.DataFrame:
    """Links from an op to those that waited for its signal."""
    pairs = run.frame("op_inputSignals", ["from_op_id", "to_op_id"])
    ops_by_id = Lookup(ops, "dispatch_id")
    cause = ops_by_id.get(pairs["from_op_id"], "end_ns", "queue_id").rename(
        {"end_ns": "cause_ns", "queue_id": "cause_track"}
    )
    effect = ops_by_id.get(pairs["to_op_id"], "start_ns", "queue_id", "pid")
    effect = effect.rename({"start_ns": "effect_ns", "queue_id": "effect_track"})
    links = cause.hstack(effect).drop_nulls(["cause_ns", "effect_ns"])
    return links.with_columns(kind=pl.lit("signal"), known=pl.lit("recorded"))


def _counters(run: Run, ops: pl.DataFrame) -> pl.DataFrame:
    rows = run.frame("counter", ["op_id", "name_id"], ["value"])
    op = Lookup(ops, "dispatch_id").get(rows["op_id"], "pid", "agent_id")
    named = rows.hstack(op).with_columns(run.strings.column(rows["name_id"], "string").alias("counter"))
    return (
        named.drop_nulls(["op_id", "counter", "value"])
        .group_by(pl.col("op_id").alias("dispatch_id"), "counter", maintain_order=True)
        .agg(pl.col("pid", "agent_id").first(), pl.col("value").sum())
    )


def _samples(run: Run) -> pl.DataFrame:
    """Sensor readings: each row is the time during which one value held."""
    rows = run.frame("monitor", ["deviceId", "start"], texts=["deviceType", "monitorType", "value"])
    gpus = rows.filter(pl.col("deviceType").str.to_lowercase() == "gpu").drop_nulls("monitorType")
    metric = {name: ours for name, (ours, _) in SENSORS.items()}
    unit = {name: unit for name, (_, unit) in SENSORS.items()}
    return gpus.select(
        pl.col("start").alias("time_ns"),
        pl.col("deviceId").alias("agent_id"),
        pl.col("monitorType").replace(metric).alias("metric"),
        pl.col("value").str.strip_chars().cast(pl.Float64, strict=False).alias("value"),
        pl.col("monitorType").replace_strict(unit, default=None, return_dtype=pl.String).alias("unit"),
    )


def _notices(tables: dict[str, pl.DataFrame]) -> tuple[str, ...]:
    busy = set(tables["dispatches"]["agent_id"].drop_nulls())
    sensed = set(tables["samples"]["agent_id"].drop_nulls())
    if sensed and busy and not busy <= sensed:
        return (
            "sensor readings count GPUs from 0, kernels by the number of the HSA node: they are not matched",
        )
    return ()


def _claims(peek: Peek) -> bool:
    tables = peek.sqlite_tables
    return (
        "rocpd_op" in tables
        and "rocpd_api" in tables
        and not any(name.startswith(MAIN_TABLE) for name in tables)
    )


ADAPTERS = (
    Adapter(
        name="rpd",
        title="rocmProfileData .rpd (schema 2 and 3)",
        recognised_by="SQLite tables rocpd_op and rocpd_api",
        claims=_claims,
        read=read,
    ),
)
