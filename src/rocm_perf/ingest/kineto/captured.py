"""Graphs whose capture is in a trace: launches between the calls that begin and end it, which left no kernel. The
roctracer backend keeps the kernel and its size with the call; CUPTI keeps neither."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.calls import CAPTURE_BEGINS, CAPTURE_ENDS, GRAPH_CALL, HOST_CALL, LAUNCH_CALL

_GRAPH = "captured_graph"
_NOTHING_SAID = pl.DataFrame(schema={"correlation_id": pl.Int64})


def captured(calls: pl.DataFrame, launches: pl.DataFrame, kernels: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables of captured graphs and launches; empty where nothing was captured. `launches` are calls that say what
    they launch, `kernels` those that ran."""
    graphs = _graphs(calls) if calls.height else pl.DataFrame()
    if not graphs.height:
        return {}
    said = launches.unique("correlation_id", keep="first") if launches.height else _NOTHING_SAID
    caught = _inside(graphs, _launching(calls, said["correlation_id"], kernels))
    caught = caught.join(said, on="correlation_id", how="left", maintain_order="left")
    number = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("launch_id")
    return {"captured_graphs": graphs, "captured_launches": caught.with_columns(number)}


def _graphs(calls: pl.DataFrame) -> pl.DataFrame:
    """One row per capture, in the order of time: from the call that begins it to the one that ends it. A recording that
    begins or ends within a capture holds a part of it."""
    begins = pl.col("name").str.contains(CAPTURE_BEGINS)
    marks = (
        calls.filter(begins | pl.col("name").str.contains(CAPTURE_ENDS))
        .sort("start_ns")
        .select("pid", "start_ns", "correlation_id", begins.alias("begins"))
    )
    place = ["pid"]
    following = pl.col("begins").shift(-1).over(place)
    ended = pl.col("begins") & ~following.fill_null(True)
    first = pl.int_range(pl.len()).over(place) == 0
    next_ns = pl.col("start_ns").shift(-1).over(place)
    opened = marks.with_columns(
        end_ns=pl.when("begins").then(next_ns).otherwise("start_ns"),
        start_ns=pl.when("begins").then("start_ns").otherwise(None),
        whole=ended,
    ).filter(pl.col("begins") | first)
    # The id of the call is the same in no other file of the process.
    number = pl.coalesce("correlation_id", pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    outer = calls.select(pl.col("start_ns").min(), pl.col("end_ns").max())  # null where no call has a time
    return opened.with_columns(
        pl.col(name).fill_null(pl.lit(outer[name][0], pl.Int64)) for name in ("start_ns", "end_ns")
    ).select(number.alias(_GRAPH), "pid", "start_ns", "end_ns", "whole")


def _launching(calls: pl.DataFrame, said: pl.Series, kernels: pl.DataFrame) -> pl.DataFrame:
    """Calls that launch a kernel, by their names or because they say which, of which none ran."""
    name = pl.col("name").str
    named = name.contains(LAUNCH_CALL) & ~name.contains(GRAPH_CALL) & ~name.contains(HOST_CALL)
    launching = named | pl.col("correlation_id").is_in(said.drop_nulls().implode())
    ran = kernels["correlation_id"].drop_nulls() if kernels.height else pl.Series(dtype=pl.Int64)
    idle = ~pl.col("correlation_id").is_in(ran.implode()).fill_null(False)
    columns = ("pid", "tid", "start_ns", "end_ns", "correlation_id")
    return calls.filter(launching & idle).select(columns).sort("start_ns")


def _inside(graphs: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """The launches made while a graph was captured in their process, on whatever thread, with that graph."""
    opened = graphs.select(_GRAPH, "pid", "start_ns", pl.col("end_ns").alias("until")).sort("start_ns")
    placed = launches.join_asof(opened, on="start_ns", by="pid", strategy="backward", check_sortedness=False)
    return placed.filter(pl.col("start_ns") < pl.col("until")).drop("until")
