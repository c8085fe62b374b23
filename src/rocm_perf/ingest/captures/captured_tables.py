"""The tables of captured graphs that an execution takes over: the graphs, their launches, and what was open around
each launch."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rocm_perf.ingest.captures.sequences import CapturedGraph
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace

_THREAD = ["node", "rank", "pass_id", "pid", "tid"]


def captured_tables(captures: Sequence[Trace], used: Sequence[CapturedGraph]) -> dict[str, pl.DataFrame]:
    """The three tables of the graphs that are used, graphs and launches numbered from 1 in their order."""
    numbered = list(enumerate(used, start=1))
    launches = pl.concat([_launches(captures[graph.capture], graph, number) for number, graph in numbered])
    launches = launches.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("launch_id"))
    graphs = pl.concat([_graph(captures[graph.capture], graph, number) for number, graph in numbered])
    ops = [
        _ops(trace, launches.join(own, on="captured_graph", how="semi"), graphs)
        for place, trace in enumerate(captures)
        if (own := _numbers(numbered, place)).height
    ]
    return {
        "captured_graphs": schema.conform("captured_graphs", graphs),
        "captured_launches": schema.conform("captured_launches", launches),
        "captured_ops": schema.conform("captured_ops", pl.concat(ops)),
    }


def source_of(capture: Trace) -> str:
    """The file that a capture was read from."""
    return capture.run.sources[0].path if capture.run.sources else "capture"


def _numbers(numbered: Sequence[tuple[int, CapturedGraph]], capture: int) -> pl.DataFrame:
    numbers = [number for number, graph in numbered if graph.capture == capture]
    return pl.DataFrame({"captured_graph": numbers}, {"captured_graph": pl.Int64})


def _launches(capture: Trace, graph: CapturedGraph, number: int) -> pl.DataFrame:
    rows = capture.table("captured_launches")[list(graph.rows)]
    return rows.with_columns(pl.lit(number, pl.Int64).alias("captured_graph"))


def _graph(capture: Trace, graph: CapturedGraph, number: int) -> pl.DataFrame:
    row = capture.table("captured_graphs").filter(
        (pl.col("captured_graph") == graph.number) & pl.col("rank").eq_missing(graph.rank)
    )
    return row.head(1).with_columns(
        pl.lit(number, pl.Int64).alias("captured_graph"),
        pl.lit(graph.capture_range.name, pl.String).alias("name"),
        pl.lit(source_of(capture)).alias("source"),
    )


def _ops(capture: Trace, launches: pl.DataFrame, graphs: pl.DataFrame) -> pl.DataFrame:
    """Operators and Python functions that began after a capture did and were open when one of its launches was made.
    What was open before captures: in a replay, what launches the graph stands in its place."""
    ops = capture.table("ops")
    spans = ops.select(*_THREAD, "start_ns", "end_ns").with_row_index("row")
    spans = spans.filter(pl.col("end_ns") > pl.col("start_ns")).sort("start_ns")
    thread = [name for name in _THREAD if spans[name].n_unique() > 1]
    began = launches.join(graphs.select("captured_graph", began_ns="start_ns"), on="captured_graph")
    ahead = began.sort("start_ns").select(
        *thread, "captured_graph", "began_ns", pl.col("start_ns").alias("launch_ns"), "start_ns"
    )
    around = spans.join_asof(
        ahead, on="start_ns", by=thread or None, strategy="forward", check_sortedness=False
    )
    inside = (pl.col("launch_ns") < pl.col("end_ns")) & (pl.col("start_ns") >= pl.col("began_ns"))
    own = around.filter(inside).select("row", "captured_graph")
    return ops[own["row"]].with_columns(own["captured_graph"]).select(schema.SCHEMAS["captured_ops"].names)
