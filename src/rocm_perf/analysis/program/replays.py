"""Replays of graphs: which kernels one launch ran, and which replays are of one graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.model.trace import Trace

REPLAY = ["node", "rank", "pass_id", "pid", "correlation_id"]
_WHOLE = 0.9  # of the kernels: a replay that has so many of them, in order, lost the others
_COMPARED = 20  # graphs that an odd replay may be one of: the most frequent ones

Content = tuple[int, ...]


@once_per_trace
def replayed_kernels(trace: Trace) -> pl.DataFrame:
    """Kernels of replays in the order of their starts, with owner, launch, `number` (of the kernel's name), `replay`
    (of the launch) and `graph`."""
    tree = operator_tree(trace)
    in_graph = pl.col("graph_id").is_not_null() & pl.col("correlation_id").is_not_null()
    kernels = tree.kernels.filter(in_graph).sort("start_ns")
    names = kernels["kernel"].unique(maintain_order=True)
    numbered = kernels.with_columns(
        number=pl.col("kernel").replace_strict(names, range(len(names)), return_dtype=pl.UInt32),
        owner_name=tree.spans["name"].gather(kernels["owner"]),
    ).join(
        tree.operators.select(owner="row", owner_shapes="shapes"),
        on="owner",
        how="left",
        maintain_order="left",
    )
    replays = _replays(numbered)
    return numbered.join(replays, on=REPLAY, how="left", nulls_equal=True, maintain_order="left")


def _replays(kernels: pl.DataFrame) -> pl.DataFrame:
    """Each replay with its number and that of its graph, both in the order of their first kernels."""
    # Streams run side by side: only the order within one is that of the graph.
    in_order = pl.col("number").sort_by("stream_id", maintain_order=True)
    replays = kernels.group_by(REPLAY, maintain_order=True).agg(in_order, pl.col("graph_id").first())
    if _are_numbered(replays):
        process = [*REPLAY[:-1], "graph_id"]
        graphs = replays.select(process).unique(maintain_order=True).with_row_index("graph")
        placed = replays.join(graphs, on=process, how="left", nulls_equal=True, maintain_order="left")
        return placed.select(*REPLAY, pl.int_range(pl.len()).alias("replay"), "graph")
    contents = [tuple(numbers) for numbers in replays["number"].to_list()]
    graph = graph_numbers(contents)
    return replays.select(
        *REPLAY,
        pl.int_range(pl.len()).alias("replay"),
        pl.Series("graph", [graph[content] for content in contents], dtype=pl.UInt32),
    )


def _are_numbered(replays: pl.DataFrame) -> bool:
    """Whether the recorder numbers graphs: else the launch stands in for its graph."""
    return bool((replays["graph_id"] != replays["correlation_id"]).any())


def graph_numbers(contents: Sequence[Content]) -> dict[Content, int]:
    """The graph of each content. Equal ones are one graph; one that lacks a few kernels of a more frequent one, and has
    the others in their order, is a replay of that."""
    counts = Counter(contents)
    frequent = [content for content, _ in counts.most_common(_COMPARED)]
    longest_first = sorted(frequent, key=len, reverse=True)
    whole = {
        content: next((other for other in longest_first if _lacks(content, other, counts)), content)
        for content in counts
    }
    numbers = {content: number for number, content in enumerate(dict.fromkeys(whole.values()))}
    return {content: numbers[whole[content]] for content in counts}


def _lacks(content: Content, other: Content, counts: Counter[Content]) -> bool:
    """Whether the content is the other one but for some kernels."""
    shorter = _WHOLE * len(other) <= len(content) < len(other)
    return shorter and counts[content] <= counts[other] and _is_within(content, other)


def _is_within(some: Iterable[int], every: Iterable[int]) -> bool:
    """Whether the elements occur in this order in the others."""
    rest = iter(every)
    return all(element in rest for element in some)
