"""Graphs as units: a launch that runs many kernels is launched once, so its kernels belong together whether or not a
capture says which operators they come from."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.program.graph_callers import callers
from rocm_perf.analysis.program.replays import replayed_kernels
from rocm_perf.model.results.graphs import Graph, GraphKernel, Graphs
from rocm_perf.model.trace import Trace

FORMULAS = {
    "graphs.gpu_ns": "sum of the durations of the kernels that its launches ran",
    "graphs.share": "gpu_ns / sum of the durations of all kernels",
    "graphs.period_ns": "median over its launches of start of the next replay - start of the replay, in its process",
    "graphs.replay_ns": "median over its launches of last end - first start of its kernels",
    "graphs.owned_ns": "sum of the durations of its kernels whose name, place in the sequence and, where recorded, "
    "size agree with a captured launch",
}
NO_GRAPHS = "no replay of a graph was recorded"
ORDER = 12  # kernels of one graph, in their order

_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def graphs(trace: Trace) -> Graphs:
    """Every graph that was replayed in the timed pass, or why there is none."""
    everything = timed_dispatches(trace)
    total = int(everything.select(_LENGTH.sum()).item() or 0)
    has_replays = bool(everything["graph_id"].is_not_null().any())
    kernels = replayed_kernels(trace).with_columns(gpu_ns=_LENGTH) if has_replays else everything.clear()
    if not kernels.height:
        return Graphs(
            rows=(),
            launches=0,
            kernels=0,
            gpu_ns=0,
            owned_ns=0,
            share=0.0,
            adoption=trace.run.adoption,
            unavailable=NO_GRAPHS,
        )
    rows = [_graph(trace, members, total) for members in kernels.partition_by("graph", maintain_order=True)]
    gpu_ns = sum(row.gpu_ns for row in rows)
    return Graphs(
        rows=tuple(sorted(rows, key=lambda row: -row.gpu_ns)),
        launches=sum(row.launches for row in rows),
        kernels=kernels.height,
        gpu_ns=gpu_ns,
        owned_ns=sum(row.owned_ns for row in rows),
        share=gpu_ns / total if total else 0.0,
        adoption=trace.run.adoption,
    )


def _graph(trace: Trace, kernels: pl.DataFrame, total_ns: int) -> Graph:
    replays = kernels.group_by("replay", maintain_order=True).agg(
        pl.len().alias("kernels"), pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("pid").first()
    )
    size = int(replays["kernels"].max())  # type: ignore[arg-type]
    gpu_ns = int(kernels["gpu_ns"].sum())
    call, launched_by = callers(trace, kernels)
    return Graph(
        kernels=size,
        launches=replays.height,
        incomplete=int((replays["kernels"] < size).sum()),
        gpu_ns=gpu_ns,
        share=gpu_ns / total_ns if total_ns else 0.0,
        replay_ns=float(replays.select(_LENGTH.median()).item()),
        period_ns=_period_ns(replays),
        call=call,
        callers=launched_by,
        order=_order(kernels, replays.height),
        captured=_captured(trace, kernels),
        owned_ns=int(kernels.filter(pl.col("captured_launch").is_not_null())["gpu_ns"].sum()),
    )


def _period_ns(replays: pl.DataFrame) -> float | None:
    between = replays.select(pl.col("start_ns").diff().over("pid")).to_series().drop_nulls()
    return None if between.is_empty() else float(between.median())  # type: ignore[arg-type]


def _order(kernels: pl.DataFrame, replays: int) -> tuple[GraphKernel, ...]:
    """The kernels with most time, in the order in which they first run."""
    total = kernels["gpu_ns"].sum()
    position = pl.int_range(1, pl.len() + 1).over("replay").alias("position")
    table = (
        kernels.with_columns(position)
        .group_by("kernel")
        .agg(
            pl.col("position").min(),
            pl.len().alias("dispatches"),
            pl.col("gpu_ns").sum(),
            _usual("owner_name").alias("operator"),
            _usual("owner_shapes").alias("shapes"),
        )
        .sort(["gpu_ns", "position"], descending=[True, False])
        .head(ORDER)
        .sort("position")
    )
    return tuple(
        GraphKernel(
            kernel=row["kernel"],
            short_name=short_name(row["kernel"]),
            position=row["position"],
            dispatches=max(1, round(row["dispatches"] / replays)),
            replay_ns=row["gpu_ns"] / replays,
            share=row["gpu_ns"] / total if total else 0.0,
            operator=row["operator"],
            shapes=row["shapes"],
        )
        for row in table.iter_rows(named=True)
    )


def _usual(column: str) -> pl.Expr:
    return pl.col(column).drop_nulls().mode().sort().first()


def _captured(trace: Trace, kernels: pl.DataFrame) -> tuple[str, ...]:
    """The names of the captures that the replays are of; where the program gave none, their files."""
    if not trace.has("captured_launches"):
        return ()
    launches = trace.table("captured_launches").select("launch_id", "captured_graph")
    used = launches.filter(
        pl.col("launch_id").is_in(kernels["captured_launch"].drop_nulls().unique().implode())
    )
    captured = trace.table("captured_graphs").join(used, on="captured_graph", how="semi")
    return tuple(captured.select(pl.coalesce("name", "source")).to_series().drop_nulls().unique().sort())
