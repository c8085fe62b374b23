"""Whether a captured graph can be what a replay ran: its batch size, and how far the sequences of kernels agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from rocm_perf.ingest.captures.alignment import alignment
from rocm_perf.ingest.captures.sequences import CapturedGraph, Replay, Stated
from rocm_perf.ingest.captures.stated_sizes import seen_sizes
from rocm_perf.model.trace import Trace

Places = Sequence[int | None]  # for each kernel of a replay, that of its launch in a graph

# Of the shorter sequence. A replay may lack kernels that the profiler lost, and a capture its end; graphs for other
# batch sizes or models differ in more: their matrix products.
_AGREEING = 0.95
_LEAST_OF_LONGER = 0.5  # a graph of three kernels lies in many others


def places(replay: Replay, graph: CapturedGraph) -> Places | None:
    """For each kernel of the replay its place in the graph; None where they are different graphs."""
    if not graph.named:
        return None
    if replay.kernels == graph.kernels:
        return range(len(replay.kernels))
    shorter, longer = sorted((len(replay.kernels), len(graph.kernels)))
    least = max(_AGREEING * shorter, _LEAST_OF_LONGER * longer if graph.whole else 1)
    if common_kernels(replay, graph) < least:
        return None
    aligned = _aligned(replay, graph)
    return aligned if len(aligned) - aligned.count(None) >= least else None


def _aligned(replay: Replay, graph: CapturedGraph) -> list[int | None]:
    """Each stream of the replay beside what the streams before it left of the graph, the longest first."""
    ends = list(accumulate(replay.streams))
    parts = sorted(zip(replay.streams, ends, strict=True), reverse=True)
    where: list[int | None] = [None] * len(replay.kernels)
    free = list(range(len(graph.kernels)))
    for length, end in parts:
        launches = tuple(graph.kernels[place] for place in free)
        found = alignment(replay.kernels[end - length : end], launches)
        where[end - length : end] = [None if place is None else free[place] for place in found]
        taken = set(where)
        free = [place for place in free if place not in taken]
    return where


def common_kernels(replay: Replay, graph: CapturedGraph) -> int:
    """How many kernels both have, whatever their order."""
    return sum((Counter(replay.kernels) & Counter(graph.kernels)).values())


def of_size(replay: Replay, graphs: Sequence[CapturedGraph], execution: Trace) -> list[CapturedGraph]:
    """The graphs that were captured for the batch size of the replay, as far as both state it: for the same one, else
    for the next larger one of which the step shows tensors, since frameworks pad a batch to a captured size."""
    asked = replay.step.size
    fitting = [graph for graph in graphs if None in (asked, graph.size) or graph.size == asked]
    if fitting or asked is None:
        return fitting
    larger = sorted({graph.size for graph in graphs if graph.size is not None and graph.size > asked})
    seen = _seen(execution, replay.step) if larger else set()
    padded = next((size for size in larger if size in seen), None)
    return [graph for graph in graphs if graph.size == padded] if padded else []


def _seen(execution: Trace, step: Stated) -> set[int]:
    if step.start_ns is None or step.end_ns is None:
        return set()
    return seen_sizes(execution, step.start_ns, step.end_ns)
