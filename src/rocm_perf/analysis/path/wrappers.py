"""Host time around synchronising calls that goes with them: what a framework does between two operators to make one."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.graph.build import domains
from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.graph.host import THREAD, placed
from rocm_perf.model.calls import SYNC_CALL
from rocm_perf.model.trace import Trace

_SCHEMA = {"call": pl.Int64, "before_ns": pl.Int64, "after_ns": pl.Int64}
_KEY = ["name", "start_ns"]


def sync_wrappers(trace: Trace, graph: Graph) -> pl.DataFrame:
    """For each synchronising call between two operators of its thread: its node in the graph, and the host time
    since the operator before it and until the one after it. A call inside an operator has none of its own."""
    number = timed_pass(trace)
    if graph.empty or not trace.has("ops"):
        return pl.DataFrame(schema=_SCHEMA)
    origins = domains(trace, number).select("node", "origin_ns")
    operators = trace.lazy("ops").filter(pl.col("category") == "operator")
    syncs = trace.lazy("api_calls").filter(pl.col("name").str.contains(SYNC_CALL))
    ops, calls = (
        placed(frame, number, origins).select(*THREAD, "name", "start_ns", "end_ns").collect()
        for frame in (operators, syncs)
    )
    nodes = graph.nodes.with_columns(call=pl.int_range(pl.len(), dtype=pl.Int64)).filter(
        pl.col("kind") == "api"
    )
    known = nodes.select("call", pl.col("name").cast(pl.String), "start_ns")
    return _around(calls, ops).join(known.unique(_KEY), on=_KEY).select(_SCHEMA.keys()).sort("call")


def _around(calls: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """The calls outside of operators, with the time since the last one ended and until the next one begins."""
    ops = ops.sort("start_ns").select(
        *THREAD, opened_ns="start_ns", reach_ns=pl.col("end_ns").cum_max().over(THREAD)
    )
    before = calls.sort("start_ns").join_asof(
        ops, left_on="start_ns", right_on="opened_ns", by=THREAD, check_sortedness=False
    )
    between = before.filter(pl.col("reach_ns") <= pl.col("start_ns")).drop("opened_ns").sort("end_ns")
    after = between.join_asof(
        ops.select(*THREAD, "opened_ns"),
        left_on="end_ns",
        right_on="opened_ns",
        by=THREAD,
        strategy="forward",
        check_sortedness=False,
    )
    return after.select(
        *_KEY,
        before_ns=pl.col("start_ns") - pl.col("reach_ns"),
        after_ns=(pl.col("opened_ns") - pl.col("end_ns")).fill_null(0),
    )
