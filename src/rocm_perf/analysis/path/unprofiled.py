"""A graph without what the profiler added to it: a traced launch takes the host longer than one that nobody records."""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.graph.graph import Graph, retimed_wall_ns
from rocm_perf.analysis.path.changes import numbered
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns


@once_per_trace
def unprofiled(trace: Trace) -> Graph:
    """The graph of a recording, less what its profiler adds to each launch, where that was measured."""
    graph, collection = build(trace), trace.run.collection
    if collection is None or not collection.launch_cost_ns or graph.empty:
        return graph
    return less_launch_cost(
        graph, round(collection.launch_cost_ns), round(collection.graph_kernel_cost_ns or 0)
    )


def less_launch_cost(graph: Graph, cost_ns: int, graph_kernel_ns: int = 0) -> Graph:
    """The graph with each launching call shorter by the cost, that of a whole graph by `graph_kernel_ns` for each
    further kernel; what a call is too short for goes from the host time that follows it."""
    launching = graph.edges.filter(pl.col("kind") == "launch")["cause"].unique().sort()
    launched = (
        graph.nodes.lazy().drop_nulls("call").group_by(cause="call").agg(pl.len().cast(pl.Int64)).collect()
    )
    costs = (
        pl.DataFrame({"cause": launching, "own": graph.nodes["duration_ns"].gather(launching)})
        .join(launched, on="cause", how="left", maintain_order="left")
        .with_columns(cost=cost_ns + graph_kernel_ns * (pl.col("len").fill_null(1) - 1))
    )
    late = costs.select("cause", late=(pl.col("cost") - pl.col("own")).clip(lower_bound=0))
    left = costs.select("cause", left=(pl.col("own") - pl.col("cost")).clip(lower_bound=0))
    nodes = (
        numbered(graph)
        .join(left, left_on="id", right_on="cause", how="left", maintain_order="left")
        .with_columns(duration_ns=pl.coalesce("left", "duration_ns"))
        .drop("id", "left")
    )
    lag = pl.max_horizontal(pl.col("lag_ns") - pl.col("late"), 0)
    follows = (pl.col("kind") == "program") & (pl.col("late") > 0) & (pl.col("lag_ns") > 0)
    edges = (
        graph.edges.join(late, on="cause", how="left", maintain_order="left")
        .with_columns(pl.when(follows).then(lag).otherwise("lag_ns").alias("lag_ns"))
        .drop("late")
    )
    launches = format_count(len(launching), "launching call")
    in_graphs = (
        f", and {format_ns(graph_kernel_ns)} less for each kernel of a graph" if graph_kernel_ns else ""
    )
    plain = replace(graph, nodes=nodes, edges=edges)
    return replace(
        plain,
        profiler_ns=max(graph.wall_ns - retimed_wall_ns(plain), 0),
        assumptions=(
            *graph.assumptions,
            f"{launches} take {format_ns(cost_ns)} less without the profiler{in_graphs}",
        ),
    )
