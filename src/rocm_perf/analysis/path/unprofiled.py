"""A graph without what the profiler added to it: a traced launch takes the host longer than one that nobody records."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.graph.graph import Graph, retimed_wall_ns
from rocm_perf.analysis.path.changes import numbered, where
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns


@once_per_trace
def unprofiled(trace: Trace) -> Graph:
    """The graph of a recording, less what its profiler adds to each launch, where that was measured."""
    graph, collection = build(trace), trace.run.collection
    cost_ns = round(collection.launch_cost_ns or 0) if collection else 0
    return less_launch_cost(graph, cost_ns) if cost_ns > 0 and not graph.empty else graph


def less_launch_cost(graph: Graph, cost_ns: int) -> Graph:
    """The graph with each launching call shorter by the cost; what a call is too short for goes from the host time
    that follows it."""
    launching = graph.edges.filter(pl.col("kind") == "launch")["cause"].unique().sort()
    own = graph.nodes["duration_ns"].gather(launching)
    late = pl.DataFrame({"cause": launching, "late": (cost_ns - own).clip(lower_bound=0)})
    shorter = pl.max_horizontal(pl.col("duration_ns") - cost_ns, 0)
    nodes = numbered(graph).with_columns(where("id", launching, shorter, "duration_ns")).drop("id")
    lag = pl.max_horizontal(pl.col("lag_ns") - pl.col("late"), 0)
    follows = (pl.col("kind") == "program") & (pl.col("late") > 0) & (pl.col("lag_ns") > 0)
    edges = (
        graph.edges.join(late, on="cause", how="left", maintain_order="left")
        .with_columns(pl.when(follows).then(lag).otherwise("lag_ns").alias("lag_ns"))
        .drop("late")
    )
    launches = format_count(len(launching), "launching call")
    plain = replace(graph, nodes=nodes, edges=edges)
    return replace(
        plain,
        profiler_ns=max(graph.wall_ns - retimed_wall_ns(plain), 0),
        assumptions=(*graph.assumptions, f"{launches} take {format_ns(cost_ns)} less without the profiler"),
    )
