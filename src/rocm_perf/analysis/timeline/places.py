"""Where things happen, in words, and when the timeline begins: each clock domain at its own first start."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.graph.build import domains
from rocm_perf.analysis.time.busy import agent_names
from rocm_perf.model.trace import Trace


class Places(msgspec.Struct, frozen=True, eq=False):
    """`clocks`: the nodes with origin_ns, their first start, and last_ns, their last end. `gpus` and `processes`: the
    groups of tracks that belong to each of them."""

    clocks: pl.DataFrame
    gpus: pl.DataFrame
    processes: pl.DataFrame

    @property
    def begin_ns(self) -> int:
        """When the timeline begins, on the clock of the first node."""
        return int(self.clocks["origin_ns"][0])

    @property
    def length_ns(self) -> int:
        """From the first start to the last end, longest over the nodes."""
        return int(self.clocks.select((pl.col("last_ns") - pl.col("origin_ns")).max()).item())

    def since_begin(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with every time counted from the first start of their node."""
        times = [name for name in ("start_ns", "end_ns", "time_ns") if name in rows.columns]
        placed = rows.join(self.clocks, on="node", how="inner", maintain_order="left")
        return placed.with_columns(pl.col(times) - pl.col("origin_ns")).drop("origin_ns", "last_ns")

    def on_gpus(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the group of their GPU."""
        return rows.join(
            self.gpus, on=["node", "agent_id"], how="left", nulls_equal=True, maintain_order="left"
        )

    def on_processes(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the group of their process."""
        return rows.join(
            self.processes, on=["node", "pid"], how="left", nulls_equal=True, maintain_order="left"
        )


def places(trace: Trace) -> Places | None:
    """The places of a recording; None where nothing in it has a time."""
    clocks = _clocks(trace)
    if not clocks.height:
        return None
    several = clocks.height > 1
    hosts = dict(trace.table("nodes").select("node", "host").iter_rows())
    prefix = {node: f"{hosts.get(node) or f'node {node}'}: " if several else "" for node in clocks["node"]}
    return Places(clocks, _gpus(trace, prefix), _processes(trace, prefix))


def _clocks(trace: Trace) -> pl.DataFrame:
    """When each node begins and ends: with its first and last span, or reading where it has no spans at all."""
    spans = domains(trace, timed_pass(trace)).select("node", "origin_ns", "last_ns")
    if spans.height:
        return spans.sort("node")
    moments = pl.concat(
        [
            trace.lazy("samples").select("node", at=pl.col("time_ns")),
            trace.lazy("allocations").select("node", at=pl.col("start_ns")),
        ]
    ).drop_nulls("at")
    bounds = moments.group_by("node").agg(origin_ns=pl.col("at").min(), last_ns=pl.col("at").max())
    return bounds.sort("node").collect()


def _gpus(trace: Trace, prefix: dict[int, str]) -> pl.DataFrame:
    names = agent_names(trace)
    tables = ("dispatches", "copies", "ranges", "samples", "allocations")
    used = pl.concat([trace.lazy(name).select("node", "agent_id") for name in tables]).unique().collect()
    groups = [
        prefix.get(node, "") + names.get((node, agent), "GPU" if agent is None else f"GPU {agent}")
        for node, agent in used.iter_rows()
    ]
    return used.with_columns(pl.Series("group", groups, dtype=pl.String))


def _processes(trace: Trace, prefix: dict[int, str]) -> pl.DataFrame:
    tables = ("api_calls", "ops", "ranges")
    used = (
        pl.concat([trace.lazy(name).select("node", "pid", "rank") for name in tables])
        .group_by("node", "pid")
        .agg(pl.col("rank").drop_nulls().first())
        .collect()
    )
    groups = [prefix.get(node, "") + _process(pid, rank) for node, pid, rank in used.iter_rows()]
    return used.select("node", "pid").with_columns(pl.Series("group", groups, dtype=pl.String))


def _process(pid: int | None, rank: int | None) -> str:
    process = "Process" if pid is None else f"Process {pid}"
    return process if rank is None else f"Rank {rank}: {process.lower()}"
