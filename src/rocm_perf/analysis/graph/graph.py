"""The graph as two tables, and the two sweeps over it (sweep.py): earliest times forward, latest times backward.

A node is a start and a duration; an edge says that its effect starts no earlier than its cause's end plus a lag. So
every time is the largest sum over the ways that lead to it.
"""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from rocm_perf.analysis.graph.sweep import Flags, Folding, Numbers, Ways, longest
from rocm_perf.model.results.path import Estimate

NODE_KINDS = pl.Enum(
    ["start", "return", "api", "op", "kernel", "copy", "collective", "arrival", "meeting", "end"]
)
EDGE_KINDS = pl.Enum(
    ["program", "call", "launch", "stream", "event", "sync", "collective", "capacity", "unrecorded", "end"]
)

# How an edge is known. Everything but "recorded" is a rule, and says which.
RULES = {
    "thread": "recorded",
    "turn": "inferred: threads that take turns, the one silent while the other makes calls, wait for each other",
    "hidden wait": "inferred: its thread, which makes no call that waits, goes on each time as soon as the GPU is done",
    "call": "recorded",
    "correlation": "recorded",
    "stream": "inferred: items of one stream that do not overlap run in order",
    "queue": "inferred: no stream is recorded; items of one queue that do not overlap run in order",
    "assumed": "assumed: no launch is recorded; it follows what its GPU ran last, or still runs",
    "event": "recorded",
    "wait": "inferred: it started when work of another stream ended, after a call that waits for an event",
    "default stream": "inferred: the default stream and one that it was seen to wait for, or to hold, run in order",
    "room": "inferred: it started when other work of the same GPU ended or drained, later than its own stream explains",
    "device sync": "inferred: a device-wide wait ends after the last work launched before it on each stream",
    "stream sync": "inferred: a stream wait ends after the last work of the stream whose end fits best",
    "event sync": "inferred: a wait for an event ends after the work that ended last before it",
    "own copy": "inferred: the call returned only when its own copy had all but ended",
    "full queue": "inferred: a long launch, with hundreds before it in its queue, returned when one of them had ended",
    "copy wait": "inferred: a copy that is not recorded held its call until the work before it had ended",
    "members": "inferred: collectives of one number, or the n-th of one name, size and group on each rank, are one",
    "unrecorded": "inferred: nothing recorded explains its start",
    "end": "recorded",
}
RULE_NAMES = pl.Enum(list(RULES))

START = 0  # the first node in the order of time
_MOST_TRACKS = (1 << 15) - 1


class Graph(msgspec.Struct, frozen=True, eq=False, weakref=True):  # each is its own, as a key too
    """`nodes`, in the order of time: kind, name, start_ns (from the first start of their clock domain), duration_ns,
    thread, section (of the thread, between range marks), looped (in the one recorded step of a loop), lane (stream or
    queue), rank, call (the launching call's node), size_bytes, row (of the recording's table).

    `edges`, sorted by effect: cause, effect (rows of nodes), kind, rule, lag_ns, binding. The binding edge of a node
    is the one that explains its start; its lag is what was observed. Another edge's lag is no more than that, and
    at most the usual one of its kind (`estimates`).
    """

    nodes: pl.DataFrame
    edges: pl.DataFrame
    wall_ns: int
    estimates: tuple[Estimate, ...] = ()
    missing: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()  # of the changes made to it
    profiler_ns: int = (
        0  # of the wall time, which was recorded: taken off the nodes and lags, for it was the profiler's
    )

    @property
    def empty(self) -> bool:
        return self.nodes.height <= 2  # its start and its end


def forward(graph: Graph) -> pl.Series:
    """The earliest start of every node."""
    return pl.Series("start_ns", longest(_ways(_weighted(graph), _tracks(graph))))


def retimed_wall_ns(graph: Graph) -> int:
    """The wall time that the nodes and lags of the graph give: the last end of the GPU's work, and of the threads
    that hold the end."""
    return _wall_ns(forward(graph).to_numpy(), graph.nodes["duration_ns"].to_numpy(), _on_gpu(graph))


def _on_gpu(graph: Graph) -> Flags:
    return graph.nodes["lane"].is_not_null().to_numpy()


def _wall_ns(times: Numbers, durations: Numbers, on_gpu: Flags) -> int:
    return max(int(times[-1]), int((times + durations)[on_gpu].max(initial=0)))


class Retiming:
    """The wall time of a graph with other durations and lags, of which many can be tried."""

    def __init__(self, graph: Graph) -> None:
        self._on_gpu = _on_gpu(graph)
        self._ways = _ways(_weighted(graph), _tracks(graph))
        self._folding = Folding(self._ways)

    def wall_ns(self, durations: Numbers, lags: Numbers) -> int:
        """The wall time where every node takes that long, and every edge that much longer."""
        weight = np.maximum(lags + durations[self._ways.cause], 0)
        return _wall_ns(self._folding.times(weight), durations, self._on_gpu)


def slack(graph: Graph) -> pl.Series:
    """By how much each node can come later, or last longer, before the end moves; zero on the critical path."""
    latest = graph.wall_ns - pl.Series(longest(_backward(graph))).reverse().head(graph.nodes.height)
    free: pl.Series = latest - graph.nodes["start_ns"]
    return free.rename("slack_ns")


def _backward(graph: Graph) -> Ways:
    """The edges turned around, from one more node behind all on: it comes after the end of every node, which has to be
    said only of nodes that no effect keeps from ending later."""
    behind = graph.nodes.height
    ways = _ways(_weighted(graph), _tracks(graph))
    durations = graph.nodes["duration_ns"].to_numpy()
    loose = np.ones(behind, dtype=bool)
    loose[ways.cause[ways.weight >= durations[ways.cause]]] = False
    last = np.flatnonzero(loose)
    return Ways(
        track=np.concatenate([ways.track[-1:], ways.track[::-1]]),
        cause=np.concatenate([np.zeros_like(last), behind - ways.effect[::-1]], dtype=np.int32),
        effect=np.concatenate([behind - last, behind - ways.cause[::-1]], dtype=np.int32),
        weight=np.concatenate([durations[last], ways.weight[::-1]]),
    )


def _weighted(graph: Graph) -> pl.DataFrame:
    durations = graph.nodes["duration_ns"].gather(graph.edges["cause"])
    # A lag is negative where the two overlapped; still no effect starts before its cause does.
    weight = pl.max_horizontal(pl.col("lag_ns") + durations, 0)
    return graph.edges.select("cause", "effect", weight.alias("weight"))


def _tracks(graph: Graph) -> pl.Series:
    """A number for the thread or the lane of each node; a few threads and lanes of very many share one."""
    number = pl.coalesce(2 * pl.col("thread"), 2 * pl.col("lane") + 1, 0)
    return graph.nodes.select(number.clip(0, _MOST_TRACKS).cast(pl.Int16)).to_series()


def _ways(weighted: pl.DataFrame, tracks: pl.Series) -> Ways:
    cause, effect, weight = (weighted[name].to_numpy() for name in ("cause", "effect", "weight"))
    return Ways(track=tracks.to_numpy(), cause=cause, effect=effect, weight=weight)
