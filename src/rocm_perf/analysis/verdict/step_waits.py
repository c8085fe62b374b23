"""Waits in the middle of a step, which no graph can hold: how many there are, of what kind, and how to do without."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.remedies.setting import Setting

_SEVERAL = 1.5  # waits in a step: one at its end leaves it whole
_TO_GPU = "H2D"
_KINDS = {"device sync": "device", "event sync": "event"}  # any other wait is for a result
_EXAMPLES_OF_TORCH = {
    "result": ".item(), nonzero(), masks as indices and prints read results back",
    "input": "tensors that come from the host have to be pinned, and copied with non_blocking=True",
    "device": "torch.cuda.synchronize()",
    "event": "Event.synchronize()",
}


def waits_first(graph: Graph, steps: int, setting: Setting) -> str:
    """What has to go before a step can be replayed whole; nothing where its calls find nothing to wait for."""
    kinds = _waits(graph)
    ranks = max(graph.nodes["rank"].drop_nulls().n_unique(), 1) if "rank" in graph.nodes.columns else 1
    each = kinds.len() / steps / ranks if steps else 0.0
    if each < _SEVERAL or setting.uses_graphs:
        return ""
    often = kinds.value_counts(sort=True)["kind"].to_list()
    examples = "; ".join(_EXAMPLES_OF_TORCH[kind] for kind in often if setting.torch)
    added = f" ({examples})" if examples else ""
    return f"The host waits {each:,.0f} times in a step, which no graph can hold: remove those waits first{added}. "


def _waits(graph: Graph) -> pl.Series:
    """The kind of each call that found something to wait for: work that ended after the call had begun."""
    nodes = graph.nodes.select("start_ns", "name", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    begun = graph.edges.filter(pl.col("kind") == "call").select("effect", call="cause").unique("effect")
    waits = graph.edges.filter((pl.col("kind") == "sync") & (pl.col("rule") != "full queue")).join(
        begun, on="effect"
    )
    awaited = waits.with_columns(
        rule=pl.col("rule").cast(pl.String),
        awaited=nodes["name"].cast(pl.String).gather(waits["cause"]),
        lasted=nodes["end_ns"].gather(waits["cause"]) > nodes["start_ns"].gather(waits["call"]),
    ).filter("lasted")
    to_gpu = pl.col("awaited") == _TO_GPU
    other = pl.col("rule").replace_strict(_KINDS, default="result", return_dtype=pl.String)
    kind = pl.when(to_gpu).then(pl.lit("input")).otherwise(other)
    once = awaited.unique("cause", maintain_order=True)  # a copy that blocks, and a wait for it, are one
    return once.unique("effect", maintain_order=True).select(kind=kind).to_series()
