"""Nsight Systems SQLite export (`nsys export --type sqlite`): kernels, copies, CUDA calls, NVTX ranges, GPU
metrics and GPUs. Tables and columns come and go with the release, so each is read if it is there."""

from __future__ import annotations

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.io.sqlite import Database, open_database
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

_ACTIVITY = "CUPTI_ACTIVITY_KIND_"
_SPAN = ("start", "end")
_ON_GPU = (*_SPAN, "deviceId", "streamId", "correlationId", "globalPid")
_GRID = tuple(f"{size}{axis}" for size in ("grid", "block") for axis in "XYZ")
_NAMES = ("demangledName", "shortName", "mangledName")
_RESOURCES = ("staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "registersPerThread")

# CUpti_ActivityMemcpyKind: arrays live on the device; 11 to 13 are moves of managed memory.
_COPY_KINDS = {
    1: "H2D",
    2: "D2H",
    3: "H2D",
    4: "D2H",
    5: "D2D",
    6: "D2D",
    7: "D2D",
    8: "D2D",
    9: "H2H",
    10: "P2P",
}
_COPY_KINDS |= {11: "H2D", 12: "D2H", 13: "D2D"}

# ENUM_NSYS_EVENT_TYPE: the other kinds of NVTX_EVENTS name domains, categories and threads.
_MARK, _RANGES = 34, (59, 60, 70, 71)
_WORST_DIAGNOSTICS = 3


def read(source: Source) -> Part:
    with open_database(source) as database:
        strings = database.table("StringIds", ("id",), (), ("value",)).unique("id", keep="first")
        epoch = _session_start(database)
        dispatches, lost = _dispatches(database, strings, source.name)
        tables = {
            "dispatches": dispatches,
            "copies": _copies(database),
            "api_calls": _api_calls(database, strings),
            "ranges": _ranges(database, strings),
            "samples": _gpu_metrics(database),
        }
        tables = {name: _numbered(database, _at(frame, epoch)) for name, frame in tables.items()}
        notices = (*_graph_notice(database), *_diagnostics(database))
        facts = _facts(database)
        agents = _agents(database)
    if not any(frame.height for frame in tables.values()):
        raise EmptyCaptureError(
            f"{source.name} holds no event", "Nsight Systems recorded no CUDA or NVTX activity"
        )
    tables, late = _timed(tables, source.name)
    clock = "relative" if epoch is None else "epoch"
    return part("nsys", {**tables, "agents": agents}, lost + late, clock=clock, notices=notices, **facts)


def _dispatches(database: Database, strings: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[Loss]]:
    frame = database.table(_ACTIVITY + "KERNEL", (*_ON_GPU, *_GRID, *_NAMES, *_RESOURCES, "graphId"))
    for column in _NAMES:
        frame = _with_string(frame, strings, column)
    kernel = pl.coalesce(_NAMES)
    unnamed = frame.filter(kernel.is_null()).height
    shared = pl.sum_horizontal("staticSharedMemory", "dynamicSharedMemory", ignore_nulls=False)
    kernels = frame.select(
        kernel.fill_null("(unnamed kernel)").alias("kernel"),
        *_where(),
        pl.col("graphId").alias("graph_id"),
        *((pl.col(f"grid{axis}") * pl.col(f"block{axis}")).alias(f"grid_{axis.lower()}") for axis in "XYZ"),
        *(pl.col(f"block{axis}").alias(f"workgroup_{axis.lower()}") for axis in "XYZ"),
        shared.alias("lds_bytes"),
        pl.col("localMemoryPerThread").alias("scratch_bytes"),
        pl.col("registersPerThread").alias("vgprs"),
    )
    losses = [Loss(name, "kernels whose name is not in StringIds", unnamed)] if unnamed else []
    whole = pl.concat([kernels, _graphs(database)], how="diagonal_relaxed").sort(
        "start_ns", maintain_order=True
    )
    return whole.with_columns(dispatch_id=pl.int_range(1, pl.len() + 1, dtype=pl.Int64)), losses


def _graphs(database: Database) -> pl.DataFrame:
    """Launches of whole CUDA graphs, where the kernels inside were not recorded (--cuda-graph-trace=graph)."""
    frame = database.table(_ACTIVITY + "GRAPH_TRACE", (*_ON_GPU, "graphId"))
    named = pl.concat_str(pl.lit("CUDA graph "), pl.col("graphId").fill_null(0).cast(pl.String))
    return frame.select(named.alias("kernel"), *_where(), pl.col("graphId").alias("graph_id"))


def _graph_notice(database: Database) -> tuple[str, ...]:
    launches = database.table(_ACTIVITY + "GRAPH_TRACE", _SPAN).height
    if not launches:
        return ()
    return (
        f"{launches:,} CUDA graph launches are shown as one dispatch each: their kernels were not recorded",
    )


def _copies(database: Database) -> pl.DataFrame:
    ids = ("bytes", "copyKind", "srcDeviceId", "dstDeviceId")
    copies = database.table(_ACTIVITY + "MEMCPY", (*_ON_GPU, *ids))
    fills = database.table(_ACTIVITY + "MEMSET", (*_ON_GPU, "bytes")).with_columns(kind=pl.lit("MEMSET"))
    kind = pl.col("copyKind").replace_strict(_COPY_KINDS, default="UNKNOWN", return_dtype=pl.String)
    copies = copies.with_columns(kind=kind)
    peer, device = pl.col("kind") == "P2P", pl.col("deviceId")
    source = pl.when(peer).then("srcDeviceId").when(pl.col("kind").is_in(["D2H", "D2D"])).then(device)
    target = pl.when(peer).then("dstDeviceId").when(pl.col("kind").is_in(["H2D", "D2D"])).then(device)
    moved = copies.select(
        "kind",
        pl.col("bytes").alias("size_bytes"),
        *_where(),
        source.alias("src_agent"),
        target.alias("dst_agent"),
    )
    filled = fills.select("kind", pl.col("bytes").alias("size_bytes"), *_where(), device.alias("dst_agent"))
    return pl.concat([moved, filled], how="diagonal_relaxed").sort("start_ns", maintain_order=True)


def _api_calls(database: Database, strings: pl.DataFrame) -> pl.DataFrame:
    """Runtime and driver calls; nsys appends the version of the call's signature (cudaLaunchKernel_v7000)."""
    frames = [
        database.table(_ACTIVITY + kind, (*_SPAN, "globalTid", "correlationId", "nameId"))
        for kind in ("RUNTIME", "DRIVER")
    ]
    frame = _with_string(pl.concat(frames), strings, "nameId").drop_nulls("nameId")
    return frame.select(
        pl.lit("cuda").alias("domain"),
        pl.col("nameId").str.replace(r"_v\d{4,5}$", "").alias("name"),
        *_host_where(),
        pl.col("correlationId").alias("correlation_id"),
    ).sort("start_ns", maintain_order=True)


def _ranges(database: Database, strings: pl.DataFrame) -> pl.DataFrame:
    """NVTX ranges and marks; a range that was still open when the recording ended has no end."""
    frame = database.table("NVTX_EVENTS", (*_SPAN, "eventType", "textId", "globalTid"), (), ("text",))
    frame = _with_string(frame, strings, "textId")
    text = pl.when(pl.col("text") != "").then("text")  # old releases write '' and -1 for null
    frame = frame.with_columns(name=pl.coalesce(text, "textId")).drop_nulls("name")
    mark = pl.col("eventType") == _MARK
    kept = frame.filter(pl.col("eventType").is_null() | mark | pl.col("eventType").is_in(_RANGES))
    kept = kept.with_columns(
        end=pl.when(mark).then("start").when(pl.col("end") >= pl.col("start")).then("end")
    )
    return kept.select("name", pl.lit("nvtx").alias("source"), *_host_where()).sort(
        "start_ns", maintain_order=True
    )


def _gpu_metrics(database: Database) -> pl.DataFrame:
    """Periodic hardware metrics (--gpu-metrics-devices). The lowest byte of typeId is the GPU."""
    values = database.table("GPU_METRICS", ("timestamp", "typeId", "metricId"), ("value",))
    names = database.table("TARGET_INFO_GPU_METRICS", ("typeId", "metricId"), (), ("metricName",))
    key = ["typeId", "metricId"] if names["typeId"].drop_nulls().len() else ["metricId"]
    named = values.join(names.unique(key), on=key, how="inner", maintain_order="left")
    return named.select(
        pl.col("timestamp").alias("time_ns"),
        (pl.col("typeId") % 256).alias("agent_id"),
        pl.col("metricName").alias("metric"),
        "value",
    ).drop_nulls("metric")


def _with_string(frame: pl.DataFrame, strings: pl.DataFrame, column: str) -> pl.DataFrame:
    """The column with its ids replaced by what they mean."""
    named = frame.join(strings, left_on=column, right_on="id", how="left", maintain_order="left")
    return named.with_columns(pl.col("value").alias(column)).drop("value")


def _where() -> tuple[pl.Expr, ...]:
    return (
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        pl.col("deviceId").alias("agent_id"),
        pl.col("streamId").alias("stream_id"),
        pl.col("correlationId").alias("correlation_id"),
        _process("globalPid").alias("pid"),
    )


def _host_where() -> tuple[pl.Expr, ...]:
    start, end = pl.col("start").alias("start_ns"), pl.col("end").alias("end_ns")
    return start, end, _process("globalTid").alias("pid"), (pl.col("globalTid") % (1 << 24)).alias("tid")


def _process(column: str) -> pl.Expr:
    """Process and thread of a global id: hardware, VM, process and thread share one number, 24 bits for each of the
    last two."""
    return pl.col(column) // (1 << 24) % (1 << 24)


def _session_start(database: Database) -> int | None:
    frame = database.table("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",)).drop_nulls()
    return int(frame["utcEpochNs"][0]) if frame.height and 0 < frame["utcEpochNs"][0] < 1 << 62 else None


def _at(frame: pl.DataFrame, epoch: int | None) -> pl.DataFrame:
    """The rows in epoch time if the start of the session, from which times count, is known."""
    times = [column for column in ("start_ns", "end_ns", "time_ns") if column in frame.columns]
    usable = [
        pl.when(pl.col(c).is_between(-(1 << 62), 1 << 62)).then(pl.col(c) + (epoch or 0)).alias(c)
        for c in times
    ]
    return frame.with_columns(usable)


def _numbered(database: Database, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows under the node's GPU numbers: a process may see fewer GPUs and count them from 0."""
    visible = (
        database.table("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid"))
        .drop_nulls()
        .unique(["cudaId", "pid"])
    )
    for column in ("agent_id", "src_agent", "dst_agent"):
        if visible.height and {"pid", column} <= set(frame.columns):
            keyed = visible.rename({"cudaId": column})
            frame = frame.join(keyed, on=[column, "pid"], how="left", maintain_order="left")
            frame = frame.with_columns(pl.coalesce("gpuId", column).alias(column)).drop("gpuId")
    return frame


def _timed(tables: dict[str, pl.DataFrame], name: str) -> tuple[dict[str, pl.DataFrame], list[Loss]]:
    kept, losses = {}, []
    for table, frame in tables.items():
        essential = (
            ("time_ns",)
            if table == "samples"
            else ("start_ns",)
            if table == "ranges"
            else ("start_ns", "end_ns")
        )
        kept[table], lost = drop_incomplete(frame, essential, name)
        losses += lost
    return kept, losses


def _agents(database: Database) -> pl.DataFrame:
    counts = (
        "id",
        "smCount",
        "totalMemory",
        "clockRate",
        "threadsPerWarp",
        "maxShmemPerSm",
        "computeMajor",
        "computeMinor",
    )
    frame = (
        database.table("TARGET_INFO_GPU", counts, (), ("name", "uuid"))
        .drop_nulls("id")
        .unique("id", maintain_order=True)
    )
    clock = pl.col("clockRate").cast(pl.Float64)
    capability = [pl.col(c).cast(pl.String) for c in ("computeMajor", "computeMinor")]
    return frame.select(
        pl.col("id").alias("agent_id"),
        pl.lit("GPU").alias("kind"),
        pl.concat_str(pl.lit("sm_"), *capability).alias("gfx"),
        "name",
        pl.lit("NVIDIA").alias("vendor"),
        "uuid",
        *(
            pl.when(pl.col(c) > 0).then(c).alias(name)
            for name, c in (
                ("cu_count", "smCount"),
                ("memory_bytes", "totalMemory"),
                ("wave_size", "threadsPerWarp"),
                ("lds_bytes", "maxShmemPerSm"),
            )
        ),
        # Hz in all releases seen; kHz, as CUDA itself reports it, is recognised by its size.
        pl.when(clock > 1e8).then(clock / 1e6).when(clock > 1e5).then(clock / 1e3).alias("clock_mhz"),
    )


def _facts(database: Database) -> dict[str, object]:
    environment = _pairs(database, "TARGET_INFO_SYSTEM_ENV")
    start = database.table("TARGET_INFO_SESSION_START_TIME", (), (), ("utcTime",)).drop_nulls()
    return {
        "host": environment.get("Hostname"),
        "os": environment.get("OsVersion"),
        "tool_version": _pairs(database, "META_DATA_EXPORT").get("EXPORT_PRODUCT_VERSION"),
        "recorded_at": start["utcTime"][0] if start.height else None,
    }


def _pairs(database: Database, table: str) -> dict[str, str]:
    return dict(database.table(table, (), (), ("name", "value")).drop_nulls().rows())


def _diagnostics(database: Database) -> tuple[str, ...]:
    """The warnings of nsys itself, above all about lost events. Severity 2 is a warning, 3 an error."""
    frame = database.table("DIAGNOSTIC_EVENT", ("severity",), (), ("text",)).filter(pl.col("severity") >= 2)
    worst = frame.drop_nulls("text").sort("severity", descending=True, maintain_order=True)["text"]
    return tuple(f"nsys: {text[:200]}" for text in worst.unique(maintain_order=True)[:_WORST_DIAGNOSTICS])


def _claims(peek: Peek) -> bool:
    tables = peek.sqlite_tables
    ours = any(table.startswith((_ACTIVITY, "TARGET_INFO_")) or table == "NVTX_EVENTS" for table in tables)
    return "StringIds" in tables and ours


ADAPTERS = (
    Adapter(
        name="nsys-sqlite",
        title="Nsight Systems SQLite export",
        recognised_by="SQLite table StringIds with CUPTI_ACTIVITY_KIND_*, NVTX_EVENTS or TARGET_INFO_*",
        claims=_claims,
        read=read,
        fills=("dispatches", "copies", "api_calls", "ranges", "samples", "agents"),
    ),
)
