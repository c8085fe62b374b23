"""The longest way to every node of a graph without cycles: max-plus, in one pass over the edges sorted by effect.

Python takes a third of a microsecond for an edge, so a large graph is folded first, in columns, to the nodes where ways
meet. Of the nodes of a track (a thread or a stream) those with one cause, the one before them, follow from the first of
them. Those with two causes, the one before them and another that all in a row share (kernels that a thread launches
between two waits come after that thread's last wait), follow from that and from what the row began with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER = -(1 << 62)
_LARGE = 1 << 15  # edges: below, the pass itself takes a few milliseconds


@dataclass(frozen=True)
class Ways:
    """Edges sorted by effect, between nodes in an order in which causes come first; node 0 is the start. `track` is
    that of each node, for the speed alone."""

    track: Numbers
    cause: Numbers
    effect: Numbers
    weight: Numbers

    @property
    def nodes(self) -> int:
        return self.track.size


@dataclass(frozen=True)
class _After:
    """For some nodes: a cause of each, and how much later than that it comes at least."""

    cause: Numbers
    weight: Numbers

    def times(self, times: Numbers) -> Numbers:
        later: Numbers = times[self.cause] + self.weight
        return later


def longest(ways: Ways) -> Numbers:
    """The length of the longest way from the start to each node; about NEVER where none leads."""
    if ways.cause.size < _LARGE:
        return _passed(ways.nodes, ways.cause, ways.effect, ways.weight)
    return _folded(ways)


def _passed(nodes: int, *edges: Numbers) -> Numbers:
    times = [NEVER] * nodes
    times[0] = 0
    for cause, effect, weight in zip(*(column.tolist() for column in edges), strict=True):
        time = times[cause] + weight
        if time > times[effect]:  # noqa: PLR1730 -- max() would double the time of the pass
            times[effect] = time
    return np.array(times, dtype=np.int64)


def _folded(ways: Ways) -> Numbers:
    degree = np.bincount(ways.effect, minlength=ways.nodes)
    edge = np.cumsum(degree) - degree  # the first into each node
    order = np.argsort(ways.track, kind="stable")
    single, paired = order[degree[order] == 1], order[degree[order] == 2]
    head = _files(single, _After(ways.cause[edge[single]], ways.weight[edge[single]]))
    cause, weight = _from_heads(ways, single, head)
    near, far = _rows(paired, *_by_nearness(paired, edge[paired], cause, weight))
    many = degree[ways.effect] > 2
    meeting = np.zeros(ways.nodes, dtype=bool)
    meeting[0] = True
    for nodes in (head.cause, near.cause, far.cause, cause[many], ways.effect[many]):
        meeting[nodes] = True
    edges = [
        (cause[many], ways.effect[many], weight[many]),
        *(
            (known.cause[kept], nodes[kept], known.weight[kept])
            for nodes, known in ((single, head), (paired, near), (paired, far))
            for kept in [meeting[nodes]]
        ),
    ]
    times = np.full(ways.nodes, NEVER, dtype=np.int64)
    times[meeting] = _between(meeting, *(np.concatenate(column) for column in zip(*edges, strict=True)))
    times[single] = head.times(times)
    times[paired] = np.maximum(near.times(times), far.times(times))
    return times


def _files(single: Numbers, before: _After) -> _After:
    """The nodes with one cause, after what is before the first of their file instead of what is before them."""
    begins, run = _runs(_follows(single, before.cause))
    total = np.cumsum(before.weight)
    led_in = (total - before.weight)[begins]
    return _After(before.cause[begins][run], total - led_in[run])


def _rows(paired: Numbers, near: _After, far: _After) -> tuple[_After, _After]:
    """The nodes with two causes, after what is before the first of their row instead of what is before them."""
    begins, run = _runs(_follows(paired, near.cause) & (far.cause == np.roll(far.cause, 1)))
    total = np.cumsum(near.weight)
    led_in = (total - near.weight)[begins]
    ahead = pl.DataFrame({"run": run, "ahead": far.weight - total}).select(
        pl.col("ahead").cum_max().over("run")
    )
    return (
        _After(near.cause[begins][run], total - led_in[run]),
        _After(far.cause, ahead.to_series().to_numpy() + total),
    )


def _follows(nodes: Numbers, cause: Numbers) -> Flags:
    """Whether the cause of each node is the one before it; the first has none before it."""
    follows = np.zeros(nodes.size, dtype=bool)
    follows[1:] = cause[1:] == nodes[:-1]
    return follows


def _runs(goes_on: Flags) -> tuple[Numbers, Numbers]:
    """Where runs begin, and the run of each row, of rows that go on with the run of the one before or do not."""
    return np.flatnonzero(~goes_on), np.cumsum(~goes_on) - 1


def _from_heads(ways: Ways, single: Numbers, head: _After) -> tuple[Numbers, Numbers]:
    """Cause and weight of the edges, with the head of a file as the cause instead of a node of the file."""
    cause, weight = np.arange(ways.nodes), np.zeros(ways.nodes, dtype=np.int64)
    cause[single], weight[single] = head.cause, head.weight
    return cause[ways.cause], ways.weight + weight[ways.cause]


def _by_nearness(paired: Numbers, edge: Numbers, cause: Numbers, weight: Numbers) -> tuple[_After, _After]:
    """Of the two edges into each node that from the node before it on its track, or else any, and the other."""
    second = _follows(paired, cause[edge + 1])
    near, far = edge + second, edge + ~second
    return _After(cause[near], weight[near]), _After(cause[far], weight[far])


def _between(meeting: Flags, cause: Numbers, effect: Numbers, weight: Numbers) -> Numbers:
    """The longest ways to the meeting nodes, by the edges between them."""
    number = np.cumsum(meeting) - 1
    order = np.argsort(effect, kind="stable")
    return _passed(int(meeting.sum()), number[cause[order]], number[effect[order]], weight[order])
