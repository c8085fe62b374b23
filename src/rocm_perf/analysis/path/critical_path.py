"""The critical path: from the last end back through what each start waited for, and what follows for each kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rocm_perf.analysis.basis.patterns import repeated
from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.graph.graph import NODE_KINDS, RULES, START, Graph, Retiming, slack
from rocm_perf.analysis.graph.sweep import Numbers
from rocm_perf.analysis.path.changes import divided
from rocm_perf.model.results.path import CriticalPath, EdgeCount, KernelOnPath, Link
from rocm_perf.model.trace import Trace

FORMULAS = {
    "critical_path.total_ns": "sum of the links from the last end back to the first start = wall_ns",
    "critical_path_score": "path_ns of the kernel / total_ns of the path",
    "slack_ns": "latest start that leaves the end where it is - recorded start",
    "impact_ns": "wall_ns - wall_ns re-timed with every dispatch of the kernel 10 % shorter",
    "half_ns, whole_ns": "the same with every dispatch 50 % shorter, and taking no time",
}

Saved = tuple[int, int, int]  # nanoseconds, for each of the factors below

LONGEST = 20
_TIMES_FASTER = (1 / 0.9, 2.0, float("inf"))  # 10 % off, half, all of it
_EDGE_VISITS = 2_000_000  # what re-timing single kernels may cost in all: about half a second

_WAITS = {
    "program": "host",
    "call": "api",
    "launch": "launch_latency",
    "stream": "queue_gap",
    "event": "event_wait",
    "capacity": "room_wait",
    "sync": "sync_return",
    "collective": "collective_wait",
    "unrecorded": "unrecorded",
    "end": "host",
}

_KERNEL_KINDS = ["kernel", "collective"]  # what has dispatches
WORK_KINDS = (*_KERNEL_KINDS, "copy", "api", "op")  # the other kinds of links are waits
LINK_KINDS = pl.Enum(list(dict.fromkeys([*NODE_KINDS.categories, *_WAITS.values()])))


def recorded_path(trace: Trace) -> CriticalPath:
    """The critical path of a recording, in the graph of what it recorded."""
    return critical_path(build(trace))


def critical_path(graph: Graph) -> CriticalPath:
    """The path of a graph, summed by kind and kernel, with the slack of every kernel."""
    links = path_links(graph)
    kinds = links.group_by("kind").agg(pl.col("duration_ns").sum()).sort("duration_ns", descending=True)
    least = links["duration_ns"].top_k(LONGEST).min() or 0
    longest = links.filter(pl.col("duration_ns") >= least)
    longest = longest.sort("duration_ns", descending=True, maintain_order=True).head(LONGEST)
    return CriticalPath(
        total_ns=int(links["duration_ns"].sum()),
        wall_ns=graph.wall_ns,
        links=links.height,
        by_kind=dict(kinds.iter_rows()),
        by_rank=_ranks(links),
        by_kernel=_kernels(graph, links),
        longest=tuple(Link(*row) for row in longest.drop("rank").iter_rows()),
        pattern=repeated(links.drop("rank")),
        nodes=_node_counts(graph),
        edges=_edge_counts(graph),
        estimates=graph.estimates,
        missing=graph.missing,
    )


def path_nodes(graph: Graph) -> pl.Series:
    """Rows of the nodes on the path, first to last. From the end on, what is known of it doubles: to the last n nodes
    come those that lie n nodes further back."""
    causes = graph.edges.filter("binding")["cause"]  # of node 1, node 2, ...: each has one
    back = pl.concat([pl.Series([START], dtype=pl.Int64), causes]).cast(pl.UInt32)
    path = pl.Series([graph.nodes.height - 1], dtype=pl.UInt32)
    while path[-1] != START:
        path = pl.concat([path, back.gather(path)])
        back = back.gather(back)
    length = path.len() - int((path == START).sum()) + 1  # the start leads to itself
    nodes: pl.Series = path.head(length).reverse().cast(pl.Int64)
    return nodes


def path_links(graph: Graph) -> pl.DataFrame:
    """The path as stretches of time (kind, name, start_ns, duration_ns, rank), first to last, without hole or overlap.

    A node accounts for its own time, up to the start of the next; the rest is a wait, of the kind of the edge and of
    the rank that waits.
    """
    path = path_nodes(graph)
    waits = graph.edges.filter("binding")["kind"].gather(path[1:] - 1)
    nodes = graph.nodes.select("kind", "name", "start_ns", "duration_ns", "rank")[path].with_columns(
        next_ns=pl.col("start_ns").shift(-1),
        next_name=pl.col("name").shift(-1),
        next_rank=pl.coalesce(pl.col("rank").shift(-1), "rank"),
    )
    nodes = nodes.head(-1).with_columns(wait=waits).with_row_index("place")
    end = pl.min_horizontal(pl.col("start_ns") + pl.col("duration_ns"), "next_ns")
    own = nodes.select(
        pl.col("kind").cast(LINK_KINDS),
        "name",
        "start_ns",
        "rank",
        duration_ns=end - pl.col("start_ns"),
        place=2 * pl.col("place"),
    )
    rest = nodes.select(
        kind=pl.col("wait").replace_strict(_WAITS, return_dtype=LINK_KINDS),
        name="next_name",
        start_ns=end,
        rank="next_rank",
        duration_ns=pl.col("next_ns") - end,
        place=2 * pl.col("place") + 1,
    )
    both = pl.concat([frame.filter(pl.col("duration_ns") > 0) for frame in (own, rest)])
    return both.sort("place").select("kind", "name", "start_ns", "duration_ns", "rank")


def _ranks(links: pl.DataFrame) -> dict[str, int]:
    """Nanoseconds of the path on each rank, most first; empty where ranks are not recorded."""
    known = links.filter(pl.col("rank") >= 0).group_by("rank").agg(pl.col("duration_ns").sum())
    ordered = known.sort("duration_ns", "rank", descending=[True, False])
    return dict(ordered.select(pl.format("rank {}", "rank"), "duration_ns").iter_rows())


def _kernels(graph: Graph, links: pl.DataFrame) -> tuple[KernelOnPath, ...]:
    kernels = (
        graph.nodes.select("kind", "name")
        .with_columns(slack(graph))
        .filter(pl.col("kind").is_in(_KERNEL_KINDS))
        .group_by("name")
        .agg(
            pl.col("kind").first(),
            pl.len().alias("dispatches"),
            pl.col("slack_ns").min().alias("slack_min_ns"),
            pl.col("slack_ns").median().cast(pl.Int64).alias("slack_median_ns"),
        )
    )
    on_path = (
        links.filter(pl.col("kind").is_in(_KERNEL_KINDS))
        .group_by("name")
        .agg(path_ns=pl.col("duration_ns").sum())
    )
    rows = kernels.join(on_path, on="name", how="left").with_columns(pl.col("path_ns").fill_null(0))
    rows = rows.sort("path_ns", "name", descending=[True, False])
    most = _EDGE_VISITS // max(len(_TIMES_FASTER) * graph.edges.height, 1)
    # When a collective ends, its other ranks decide.
    asked = rows.head(most).filter((pl.col("kind") == "kernel") & (pl.col("path_ns") > 0))["name"]
    saved = _saved_ns(graph, asked)
    return tuple(_kernel(graph, row, saved.get(row["name"])) for row in rows.to_dicts())


def _kernel(graph: Graph, row: dict[str, Any], retimed: Saved | None) -> KernelOnPath:
    path_ns = row["path_ns"]
    saved, basis = (0, 0, 0), "off the path"
    if retimed:
        saved, basis = retimed, "re-timed"
    elif path_ns:
        saved, basis = (path_ns // 10, path_ns // 2, path_ns), "at most"
    impact, half, whole = saved
    return KernelOnPath(
        kernel=str(row["name"]),
        dispatches=row["dispatches"],
        path_ns=path_ns,
        critical_path_score=path_ns / graph.wall_ns if graph.wall_ns else 0.0,
        slack_min_ns=row["slack_min_ns"],
        slack_median_ns=row["slack_median_ns"],
        impact_ns=impact,
        half_ns=half,
        whole_ns=whole,
        impact_basis=basis,
    )


def _saved_ns(graph: Graph, kernels: pl.Series) -> dict[str, Saved]:
    """For each of the kernels, what the wall time loses with all its dispatches faster (as FasterKernels has them)."""
    if not kernels.len():
        return {}
    retiming = Retiming(graph)
    durations, lags = (_tried(graph.nodes, "duration_ns"), _tried(graph.edges, "lag_ns"))
    cause, overlaps = graph.edges["cause"].to_numpy(), (graph.edges["lag_ns"] < 0).to_numpy()
    dispatches = graph.nodes.with_row_index("node").filter(pl.col("kind") == "kernel")
    of_kernel = dispatches.filter(pl.col("name").is_in(kernels.implode())).group_by("name").agg("node")
    saved: dict[str, Saved] = {}
    for kernel, nodes in of_kernel.iter_rows():
        hits = np.zeros(graph.nodes.height, dtype=bool)
        hits[nodes] = True
        drained = hits[cause] & overlaps
        tenth, half, whole = (
            retiming.wall_ns(np.where(hits, length, durations[0]), np.where(drained, lag, lags[0]))
            for length, lag in zip(durations[1:], lags[1:], strict=True)
        )
        saved[kernel] = (graph.wall_ns - tenth, graph.wall_ns - half, graph.wall_ns - whole)
    return saved


def _tried(rows: pl.DataFrame, time: str) -> list[Numbers]:
    """A column of times as it is, and so many times shorter."""
    shorter = {f"{factor}": divided(pl.col(time), factor) for factor in _TIMES_FASTER}
    return [column.to_numpy() for column in rows.select(time, **shorter)]


def _node_counts(graph: Graph) -> dict[str, int]:
    counted = graph.nodes.group_by("kind").len().with_columns(pl.col("kind").cast(pl.String)).sort("kind")
    return {kind: count for kind, count in counted.iter_rows() if kind not in ("start", "end")}


def _edge_counts(graph: Graph) -> tuple[EdgeCount, ...]:
    counted = (
        graph.edges.group_by("kind", "rule")
        .agg(pl.len(), pl.col("binding").sum())
        .sort("kind", "rule")
        .iter_rows()
    )
    return tuple(
        EdgeCount(kind=kind, known=RULES[rule], count=count, binding=binding)
        for kind, rule, count, binding in counted
    )
