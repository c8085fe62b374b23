"""The longest way to every node of a graph without cycles: max-plus, in one pass over its edges.

Python takes a third of a microsecond for an edge, so a large graph is folded first, in columns, to the nodes where ways
meet. Of the nodes of a track (a thread or a stream) those with one cause, the one before them, follow from the first of
them. Those with two causes, the one before them and another that all in a row share (kernels that a thread launches
between two waits come after that thread's last wait), follow from that and from what the row began with.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]  # of nodes and edges: a graph with more of them would not fit into memory
Flags = npt.NDArray[np.bool_]
Number = TypeVar("Number", np.int32, np.int64)

NEVER = -(1 << 62)
_LARGE = 1 << 15  # edges: below, the pass itself takes a few milliseconds


class Ways(msgspec.Struct, frozen=True):
    """Edges sorted by effect or by cause, between nodes in an order in which causes come first; node 0 is the start.
    `track` is that of each node, for the speed alone."""

    track: Numbers
    cause: Numbers | Places
    effect: Numbers | Places
    weight: Numbers

    @property
    def nodes(self) -> int:
        return self.track.size


def longest(ways: Ways) -> Numbers:
    """The length of the longest way from the start to each node; about NEVER where none leads."""
    if ways.cause.size < _LARGE:
        return _passed(ways.nodes, ways.cause, ways.effect, ways.weight)
    return Folding(ways).times(ways.weight)


def _passed(nodes: int, *edges: Numbers | Places) -> Numbers:
    times = [NEVER] * nodes
    times[0] = 0
    for cause, effect, weight in zip(*(column.tolist() for column in edges), strict=True):
        time = times[cause] + weight
        if time > times[effect]:  # noqa: PLR1730 -- max() would double the time of the pass
            times[effect] = time
    return np.array(times, dtype=np.int64)


class Folding:
    """A graph folded by its edges alone, whatever their weights: it can be timed many times."""

    def __init__(self, ways: Ways) -> None:
        degree = np.bincount(ways.effect, minlength=ways.nodes).astype(np.int32)
        order = np.argsort(ways.track, kind="stable").astype(np.int32)
        edges = np.arange(ways.effect.size, dtype=np.int32)
        first, last = np.zeros((2, ways.nodes), dtype=np.int32)  # of the edges into each node
        last[ways.effect] = edges
        first[ways.effect[::-1]] = edges[::-1]
        self._count = ways.nodes
        self._cause = ways.cause.astype(np.int32, copy=False)
        self._single = _Single.of(order[degree[order] == 1], first, self._cause)
        cause = self._single.heads(ways.nodes)[self._cause]
        self._paired = _Paired.of(order[degree[order] == 2], first, last, cause)
        self._many = np.flatnonzero(degree[ways.effect] > 2)
        self._meet(cause[self._many], ways.effect[self._many].astype(np.int32))

    def _meet(self, cause: Places, effect: Places) -> None:
        """Note the nodes where ways meet, and the edges between them: those given, and one or two into each node that
        follows from others."""
        single, paired = self._single, self._paired
        meeting = np.zeros(self._count, dtype=bool)
        meeting[0] = True
        for nodes in (single.cause, paired.near, paired.far, cause, effect):
            meeting[nodes] = True
        lone, two = meeting[single.nodes], meeting[paired.nodes]
        causes = np.concatenate([cause, single.cause[lone], paired.near[two], paired.far[two]])
        effects = np.concatenate([effect, single.nodes[lone], paired.nodes[two], paired.nodes[two]])
        number = np.cumsum(meeting, dtype=np.int32) - 1
        self._order = np.argsort(effects, kind="stable")
        self._meeting, self._lone, self._two = meeting, lone, two
        self._between = (number[causes[self._order]], number[effects[self._order]])

    def times(self, weight: Numbers) -> Numbers:
        """The length of the longest way from the start to each node, by edges of these weights."""
        single, paired = self._single, self._paired
        since = single.since(weight)
        later = np.zeros(self._count, dtype=np.int64)
        later[single.nodes] = since
        weight = weight + later[self._cause]
        near, far = paired.since(weight)
        weights = np.concatenate([weight[self._many], since[self._lone], near[self._two], far[self._two]])
        times = np.full(self._count, NEVER, dtype=np.int64)
        times[self._meeting] = _passed(int(self._meeting.sum()), *self._between, weights[self._order])
        times[single.nodes] = times[single.cause] + since
        times[paired.nodes] = np.maximum(times[paired.near] + near, times[paired.far] + far)
        return times


class _Runs(msgspec.Struct, frozen=True):
    """Rows of which some go on with the run of the one before: where runs begin, and the run of each row."""

    begins: Numbers
    run: Places

    @staticmethod
    def of(goes_on: Flags) -> _Runs:
        return _Runs(np.flatnonzero(~goes_on), np.cumsum(~goes_on, dtype=np.int32) - 1)

    def first(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """For each row, the value of the first of its run."""
        of_rows: npt.NDArray[Number] = values[self.begins][self.run]
        return of_rows

    def sums(self, values: Numbers) -> Numbers:
        """For each row, the sum of its run up to it."""
        total = np.cumsum(values)
        return total - self.first(total - values)

    def highest(self, values: Numbers) -> Numbers:
        """For each row, the highest value of its run up to it. Lifted above all before it, each run begins anew in one
        pass over all; many long ones are too high for that."""
        height = int(values.max(initial=0)) - int(values.min(initial=0)) + 1
        if height * self.begins.size < -NEVER:
            lifts = self.run * np.int64(height)
            lifted: Numbers = np.maximum.accumulate(values + lifts) - lifts
            return lifted
        rows = pl.DataFrame({"run": self.run, "value": values})
        return rows.select(pl.col("value").cum_max().over("run")).to_series().to_numpy()


class _Single(msgspec.Struct, frozen=True):
    """The nodes with one cause: its edge, and `cause`, what is before the first of their file."""

    nodes: Places
    edge: Places
    files: _Runs
    cause: Places

    @staticmethod
    def of(nodes: Places, edges: Places, cause: Places) -> _Single:
        edge = edges[nodes]
        files = _Runs.of(_follows(nodes, cause[edge]))
        return _Single(nodes, edge, files, files.first(cause[edge]))

    def heads(self, count: int) -> Places:
        """For each node, what is before its file, or the node itself."""
        heads = np.arange(count, dtype=np.int32)
        heads[self.nodes] = self.cause
        return heads

    def since(self, weight: Numbers) -> Numbers:
        """How much later each comes than what is before its file."""
        return self.files.sums(weight[self.edge])


class _Paired(msgspec.Struct, frozen=True):
    """The nodes with two causes: the edge from the node before each on its track, or else any, and the other; and
    `near` and `far`, what they come after: what is before the first of their row, and the other cause."""

    nodes: Places
    near_edge: Places
    far_edge: Places
    rows: _Runs
    near: Places
    far: Places

    @staticmethod
    def of(nodes: Places, first: Places, last: Places, cause: Places) -> _Paired:
        one, other = first[nodes], last[nodes]
        follows = _follows(nodes, cause[other])
        near_edge, far_edge = np.where(follows, other, one), np.where(follows, one, other)
        near, far = cause[near_edge], cause[far_edge]
        rows = _Runs.of(_follows(nodes, near) & (far == np.roll(far, 1)))
        return _Paired(nodes, near_edge, far_edge, rows, rows.first(near), far)

    def since(self, weight: Numbers) -> tuple[Numbers, Numbers]:
        """How much later each comes at least than `near` and than `far`."""
        near = self.rows.sums(weight[self.near_edge])
        return near, self.rows.highest(weight[self.far_edge] - near) + near


def _follows(nodes: Places, cause: Places) -> Flags:
    """Whether the cause of each node is the one before it; the first has none before it."""
    follows = np.zeros(nodes.size, dtype=bool)
    follows[1:] = cause[1:] == nodes[:-1]
    return follows
