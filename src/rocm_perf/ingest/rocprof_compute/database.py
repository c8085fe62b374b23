"""rocprof-compute's analysis database (tables compute_*): dispatches, the metrics it computed, roofline peaks
and PC samples. A file may hold several workloads; each becomes one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.io.sqlite import Database, open_database
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.rocprof_compute.config import agents_of, ceiling_of, run_facts, statistic_name
from rocm_perf.model.run import Loss

_REQUIRED = frozenset({"compute_workload", "compute_kernel", "compute_metric_definition"})
_ROOFLINE = ("total_flops", "l1_cache_data", "l2_cache_data", "hbm_cache_data")


def read(source: Source) -> Part:
    with open_database(source) as database:
        workloads = _workloads(database)
        kernels = _kernels(database, workloads)
        dispatches, lost = _dispatches(database, kernels, source.name)
        instructions, stalls = _pc_samples(database, kernels)
        metrics = [*_metrics(database, kernels, workloads), *_roofline_points(database, kernels), stalls]
        version = _version(database)
    tables = {
        "dispatches": dispatches,
        "metrics": pl.concat(
            [frame for frame in metrics if frame.height] or [pl.DataFrame()], how="diagonal_relaxed"
        ),
        "instructions": instructions,
        **_machine(workloads, dispatches),
    }
    if not any(frame.height for frame in tables.values()):
        raise EmptyCaptureError(f"{source.name} holds no workload", "rocprof-compute saved an empty analysis")
    facts = run_facts(_facts(workloads, "sys_info_extdata"))
    return part("rocprof-compute", tables, lost, clock="boot", **{**facts, "tool_version": version})


def _workloads(database: Database) -> pl.DataFrame:
    texts = ("name", "sys_info_extdata", "roofline_bench_extdata")
    frame = database.table("compute_workload", ("workload_id",), (), texts).sort("workload_id")
    return frame.with_row_index("pass_id").with_columns(pl.col("pass_id").cast(pl.Int32))


def _kernels(database: Database, workloads: pl.DataFrame) -> pl.DataFrame:
    frame = database.table("compute_kernel", ("kernel_uuid", "workload_id"), (), ("kernel_name",))
    return frame.join(
        workloads.select("workload_id", "pass_id"), on="workload_id", how="left", maintain_order="left"
    ).select("kernel_uuid", "pass_id", domains.kernel_name(pl.col("kernel_name")).alias("kernel"))


def _dispatches(database: Database, kernels: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[Loss]]:
    columns = ("kernel_uuid", "dispatch_id", "gpu_id", "start_timestamp", "end_timestamp")
    frame = database.table("compute_dispatch", columns).join(
        kernels, on="kernel_uuid", how="left", maintain_order="left"
    )
    renamed = {"gpu_id": "agent_id", "start_timestamp": "start_ns", "end_timestamp": "end_ns"}
    return drop_incomplete(frame.rename(renamed).drop("kernel_uuid"), ("kernel",), name)


def _metrics(database: Database, kernels: pl.DataFrame, workloads: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Values of each kernel and of the whole workload; what the tool could not compute is left out."""
    definitions = _definitions(database, workloads)
    for table, owner in (
        ("compute_kernel_metric_value", "kernel_uuid"),
        ("compute_workload_metric_value", None),
    ):
        keys = ("metric_uuid", owner) if owner else ("metric_uuid",)
        values = database.table(table, keys, ("value",), ("value_name",)).filter(pl.col("value").is_finite())
        values = values.join(definitions, on="metric_uuid", how="inner", maintain_order="left")
        if owner:
            values = values.join(
                kernels.select("kernel_uuid", "kernel"), on="kernel_uuid", how="inner", maintain_order="left"
            )
        names = {name: statistic_name(name) for name in values["value_name"].drop_nulls().unique()}
        statistic = pl.col("value_name").replace_strict(names, default=None, return_dtype=pl.String)
        share = pl.when(statistic == "pct_of_peak").then(pl.lit("Pct")).otherwise("unit")
        kernel = pl.col("kernel") if owner else pl.lit(None, pl.String)
        yield values.select(
            "metric",
            "group",
            kernel.alias("kernel"),
            statistic.alias("statistic"),
            "value",
            share.alias("unit"),
        )


def _definitions(database: Database, workloads: pl.DataFrame) -> pl.DataFrame:
    texts = ("name", "table_name", "sub_table_name", "unit")
    frame = database.table("compute_metric_definition", ("metric_uuid", "workload_id"), (), texts)
    panel, table = pl.col("table_name"), pl.col("sub_table_name")
    group = (
        pl.when(panel == table)
        .then(panel)
        .otherwise(pl.concat_str(panel, table, separator=" / ", ignore_nulls=True))
    )
    if workloads.height > 1:
        frame = frame.join(
            workloads.select("workload_id", workload="name"),
            on="workload_id",
            how="left",
            maintain_order="left",
        )
        group = pl.concat_str(pl.col("workload"), group, separator=": ", ignore_nulls=True)
    return frame.select(
        "metric_uuid", pl.col("name").alias("metric"), group.alias("group"), "unit"
    ).drop_nulls("metric")


def _roofline_points(database: Database, kernels: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for table, owner in (
        ("compute_kernel_roofline_data", "kernel_uuid"),
        ("compute_workload_roofline_data", None),
    ):
        frame = database.table(table, (owner,) if owner else (), _ROOFLINE)
        if owner:
            frame = frame.join(
                kernels.select("kernel_uuid", "kernel"), on="kernel_uuid", how="inner", maintain_order="left"
            )
        points = frame.unpivot(
            on=list(_ROOFLINE),
            index="kernel" if owner else None,
            variable_name="metric",
            value_name="value",
        )
        yield points.drop_nulls("value").with_columns(group=pl.lit("Roofline"), statistic=pl.lit("value"))


def _pc_samples(database: Database, kernels: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Instructions with their samples, and why the waves of each kernel stalled."""
    counts = ("kernel_uuid", "offset", "count", "count_issue", "count_stall")
    frame = database.table("compute_pcsampling", counts, (), ("source", "instruction", "stall_reason"))
    frame = frame.join(kernels, on="kernel_uuid", how="left", maintain_order="left").drop_nulls("instruction")
    instructions = frame.select(
        "kernel",
        pl.col("offset").cast(pl.UInt64, strict=False).alias("pc"),
        pl.col("instruction").alias("text"),
        "source",
        pl.col("count").alias("samples"),
        pl.col("count_issue").alias("samples_issued"),
        pl.col("count_stall").alias("samples_stalled"),
    )
    return instructions, _stalls(frame)


def _stalls(frame: pl.DataFrame) -> pl.DataFrame:
    totals: dict[tuple[str, str], float] = {}
    for kernel, text in frame.select("kernel", "stall_reason").drop_nulls().iter_rows():
        for reason, count in _object(text).items():
            if isinstance(count, int | float) and not isinstance(count, bool):
                totals[kernel, reason] = totals.get((kernel, reason), 0.0) + count
    rows = [
        {
            "metric": reason,
            "group": "PC sampling stalls",
            "kernel": kernel,
            "statistic": "samples",
            "value": value,
        }
        for (kernel, reason), value in totals.items()
    ]
    return pl.DataFrame(rows)


def _machine(workloads: pl.DataFrame, dispatches: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The GPU and its measured peaks. Its number is that of the dispatches, if they were all on one."""
    facts = _facts(workloads, "sys_info_extdata")
    used = dispatches["agent_id"].drop_nulls().unique()
    agent_id = int(used[0]) if len(used) == 1 else 0
    peaks = [
        {"agent_id": agent_id, "ceiling": named[0], "value": float(value), "unit": named[1]}
        for column, value in _facts(workloads, "roofline_bench_extdata").items()
        if (named := ceiling_of(column)) and isinstance(value, int | float) and value > 0
    ]
    return {
        "agents": agents_of(facts, agent_id) if facts else pl.DataFrame(),
        "ceilings": pl.DataFrame(peaks),
    }


def _facts(workloads: pl.DataFrame, column: str) -> Mapping[str, Any]:
    texts = workloads[column].drop_nulls()
    return _object(texts[0]) if len(texts) else {}


def _object(text: str) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return {}


def _version(database: Database) -> str | None:
    frame = database.table("compute_metadata", (), (), ("compute_version",))
    return frame["compute_version"][0] if frame.height else None


ADAPTERS = (
    Adapter(
        name="rocprof-compute-db",
        title="rocprof-compute analysis database",
        recognised_by="SQLite tables " + ", ".join(sorted(_REQUIRED)),
        claims=lambda peek: set(peek.sqlite_tables) >= _REQUIRED,
        read=read,
        fills=("dispatches", "metrics", "instructions", "agents", "ceilings"),
    ),
)
