"""Modules, operators and what they launched as one tree: calls with the same names around them are one node."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.forest import depths, nearest
from rocm_perf.analysis.basis.module_spans import bare_names, is_module
from rocm_perf.analysis.basis.names import short_names
from rocm_perf.analysis.operators.tree import OperatorTree
from rocm_perf.model.results.operators import FlameNode

NODES = 1000  # at most: the largest by GPU or host time
_NAMED = ["parent", "kind", "name"]
_NODE: dict[str, type[pl.DataType]] = {
    "parent": pl.Int64,
    "kind": pl.String,
    "name": pl.String,
    "calls": pl.Int64,
    "gpu_ns": pl.Int64,
    "host_ns": pl.Int64,
    "node": pl.Int64,
}


def flame(tree: OperatorTree) -> tuple[FlameNode, ...]:
    """The nodes, each behind the one around it; siblings with most GPU time first."""
    spans = tree.spans
    modules = is_module(spans)
    is_shown = modules | (spans["category"] == "operator")
    shown = spans.select(
        "gpu_total_ns",
        "host_ns",
        around=nearest(spans["parent"], is_shown),
        depth=depths(spans["behind"], is_shown),
        kind=pl.when(modules).then(pl.lit("module")).otherwise(pl.lit("operator")),
        name="name",
        row="row",
    ).filter(is_shown)
    shown = shown.with_columns(bare_names(shown["name"]))
    nodes, places = _merged(shown, spans.height)
    launched = _launched(tree, places, first=nodes.height)
    return _thinned(pl.concat((nodes, launched), how="diagonal"))


def _merged(spans: pl.DataFrame, count: int) -> tuple[pl.DataFrame, pl.Series]:
    """A node for each path of names, found level by level; and the node of each of `count` rows, null for others."""
    place = pl.repeat(None, count, dtype=pl.Int64, eager=True)
    nodes = [pl.DataFrame(schema=_NODE)]
    first = 0
    for level in spans.partition_by("depth", maintain_order=True):
        inside = level.with_columns(place.gather(level["around"]).alias("parent"))
        merged = inside.group_by(_NAMED, maintain_order=True).agg(
            "row",
            calls=pl.len().cast(pl.Int64),
            gpu_ns=pl.col("gpu_total_ns").sum(),
            host_ns=pl.col("host_ns").sum(),
        )
        numbered = merged.with_columns(node=pl.int_range(first, first + merged.height, dtype=pl.Int64))
        rows = numbered.select("row", "node").explode("row")
        place = place.scatter(rows["row"], rows["node"])
        nodes.append(numbered.select(pl.col(name).cast(dtype) for name, dtype in _NODE.items()))
        first += merged.height
    return pl.concat(nodes), place


def _launched(tree: OperatorTree, places: pl.Series, first: int) -> pl.DataFrame:
    """A node for each kernel and each kind of copy below the operator that launched it."""
    kernels = tree.kernels.select(
        "owner", "gpu_ns", name=short_names(tree.kernels["kernel"]), kind=pl.lit("kernel")
    )
    copies = tree.copies.select("owner", "gpu_ns", name=pl.col("kind").fill_null("copy"), kind=pl.lit("copy"))
    work = pl.concat((kernels, copies))
    placed = work.with_columns(places.gather(work["owner"]).alias("parent")).drop_nulls("parent")
    merged = placed.group_by(_NAMED, maintain_order=True).agg(
        calls=pl.len().cast(pl.Int64), gpu_ns=pl.col("gpu_ns").sum(), host_ns=pl.lit(0, pl.Int64)
    )
    return merged.with_columns(node=pl.int_range(first, first + merged.height, dtype=pl.Int64))


def _thinned(nodes: pl.DataFrame) -> tuple[FlameNode, ...]:
    """The largest nodes. What is around a node is never smaller, so it is kept with it."""
    outermost = nodes.filter(pl.col("parent").is_null())
    gpu, host = (max(outermost[time].sum(), 1) for time in ("gpu_ns", "host_ns"))
    size = pl.max_horizontal(pl.col("gpu_ns") / gpu, pl.col("host_ns") / host)
    kept = nodes.sort(size, "node", descending=[True, False]).head(NODES)
    ordered = kept.sort("gpu_ns", "host_ns", "node", descending=[True, True, False])
    return tuple(_listed(ordered))


def _listed(nodes: pl.DataFrame) -> Iterator[FlameNode]:
    """From the outside to the inside; parents are places in what is listed."""
    below: dict[int | None, list[dict[str, Any]]] = {}
    for row in nodes.iter_rows(named=True):
        below.setdefault(row["parent"], []).append(row)
    places: dict[int, int] = {}
    waiting = deque(below.get(None, ()))
    while waiting:
        row = waiting.popleft()
        places[row["node"]] = len(places)
        waiting.extend(below.get(row["node"], ()))
        yield FlameNode(
            name=row["name"],
            kind=row["kind"],
            parent=places.get(row["parent"]),
            calls=row["calls"],
            gpu_ns=row["gpu_ns"],
            host_ns=row["host_ns"],
        )
