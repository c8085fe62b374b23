"""Changes that make one launch of several: capture into graphs, and fusion of kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import msgspec
import polars as pl

from rocm_perf.analysis.basis.keys import ordered
from rocm_perf.analysis.basis.shared import once_per_graph
from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.path.changes import changed, names, numbered
from rocm_perf.analysis.time.sequence import period
from rocm_perf.errors import UsageError
from rocm_perf.units import format_count, format_ns

# Where a recording has no graph launch: what one took per node under a profiler (MI300X 1.2, H200 1.5 us), and the
# gap within one (H200 0.1 us, MI300X less).
ASSUMED_GRAPH_NODE_NS = 1300
ASSUMED_GRAPH_GAP_NS = 100
# When the first kernel of a graph starts after its launch began, at the latest, while the call goes on with the other
# nodes: 14 us on an MI300X (of 1,573), 34 and 41 us on an H200 (of 57 and 133).
ASSUMED_GRAPH_START_NS = 40_000

_LONG_RUN = 0.05  # of all launches: in shorter runs no loop is looked for but an exact one
_LONGEST_HOST_GAP_NS = 1_000_000  # launches further apart have other work between them
# Calls that a graph does without, or takes in: questions, and what only hands something to a stream.
_NO_HINDRANCE = (
    r"Get|Query|IsCapturing|Attribute|CallConfiguration|Occupancy|Peek"
    r"|Mem(set|cpy)\w*Async|EventRecord|StreamWaitEvent"
)

Names = Sequence[int]  # of kernels and copies, as numbers
Segment = tuple[int, int]  # of a run of launches: where it starts, how many it joins


class Captured(msgspec.Struct, frozen=True):
    """Launches and asynchronous copies that a thread repeats on one stream become one graph launch per repetition.

    The costs are those given, else those of graph launches in the recording, else assumed.
    """

    graph_call_ns: int | None = None
    graph_gap_ns: int | None = None
    title: str = "repeated launches captured into graphs"

    def apply(self, graph: Graph) -> Graph:
        launches = _launches(graph)
        joined = _joined(launches, _loops(launches))
        call, gap = self._call_ns(graph), self._gap_ns(graph)
        cost = pl.lit(call) if call is not None else pl.col("size") * ASSUMED_GRAPH_NODE_NS
        joined = joined.with_columns(call_ns=cost)
        nodes, edges = _one_launch(graph, joined, gap)
        launch, early = "" if call is None else format_ns(call), ""
        if call is None:
            edges = _started_early(edges, joined, graph.nodes.height)
            launch = f"{format_ns(ASSUMED_GRAPH_NODE_NS)} per node (assumed)"
            early = f"; the first kernel starts after {format_ns(ASSUMED_GRAPH_START_NS)} at most (assumed)"
        graphs = format_count(joined["segment"].n_unique(), "graph launch", "graph launches")
        assumption = (
            f"{joined.height} launches become {graphs} of {launch} each, with gaps of {format_ns(gap)} within{early}; "
            "the host time between these launches vanishes"
        )
        return changed(graph, assumption, nodes, edges)

    def _call_ns(self, graph: Graph) -> int | None:
        return self.graph_call_ns if self.graph_call_ns is not None else _recorded_call_ns(graph)

    def _gap_ns(self, graph: Graph) -> int:
        if self.graph_gap_ns is not None:
            return self.graph_gap_ns
        shown = (one.value_ns for one in graph.estimates if one.name == "queue gap, within a graph")
        return next(shown, ASSUMED_GRAPH_GAP_NS)


class Fused(msgspec.Struct, frozen=True):
    """Launches of these kernels, full names, that follow one another on a stream become one launch.

    It takes `duration_factor` times the sum of their times: 1 spares only launches and gaps, no memory traffic.
    """

    kernels: tuple[str, ...]
    duration_factor: float = 1.0

    @property
    def title(self) -> str:
        return f"{format_count(len(self.kernels), 'kernel')} fused"

    def apply(self, graph: Graph) -> Graph:
        launches = _launches(graph)
        joined = _joined(launches, _in_a_row(launches, self.kernels))
        if not joined.height:
            raise UsageError(
                "these kernels never follow one another on a stream",
                next_step="Give the full names of kernels that are launched in a row.",
            )
        nodes, edges = _one_launch(graph, joined.with_columns(call_ns=pl.col("own_ns")), 0)
        total = (self.duration_factor * pl.col("item_ns").sum().over("segment")).round().cast(pl.Int64)
        items = joined.select(id="item", total=pl.when(pl.col("place") == 0).then(total).otherwise(0))
        assumption = f"{joined.height} launches become {joined['segment'].n_unique()}, each "
        assumption += f"{self.duration_factor:g} times as long as its parts together"
        return changed(graph, assumption, _with_durations(nodes, items), edges)


def _recorded_call_ns(graph: Graph) -> int | None:
    calls = graph.nodes.filter(pl.col("kind") == "api")
    calls = calls.filter(pl.col("name").is_in(names(calls, "GraphLaunch")))
    return int(calls["duration_ns"].median()) if calls.height else None  # type: ignore[arg-type]


@once_per_graph
def _launches(graph: Graph) -> pl.DataFrame:
    """Calls that start one kernel or copy and do not wait, by thread and time; those of a `run` follow one another
    on one stream, without a range mark or long host work between them."""
    nodes = numbered(graph)
    held = graph.edges.filter((pl.col("kind") == "sync") & (pl.col("rule") != "full queue")).select("effect")
    waiting = graph.edges.filter(pl.col("kind") == "call").join(held, on="effect", how="semi")["cause"]
    calls = nodes.filter(pl.col("thread").is_not_null() & (pl.col("kind") != "return")).select(
        "thread", "section", "looped", "start_ns", call="id", own_ns="duration_ns", function="name"
    )
    asked = names(graph.nodes.filter(pl.col("kind") == "api"), _NO_HINDRANCE)
    calls = ordered(calls.join_asof(_started(nodes), on="call", tolerance=0), ["thread", "call"])
    waits = pl.col("call").is_in(waiting.implode())
    matters = waits | (pl.col("own_ns") > 0) & ~pl.col("function").is_in(asked)
    calls = calls.filter(pl.col("items").is_not_null() | matters)
    single = (pl.col("items") == 1) & pl.col("kind").is_in(["kernel", "copy"])
    calls = calls.with_columns(single=(single & ~waits).fill_null(False))
    idle = pl.col("start_ns") - (pl.col("start_ns") + pl.col("own_ns")).shift(1)
    same = [
        pl.col(name) == pl.col(name).shift(1) for name in ("thread", "section", "looped", "lane", "single")
    ]
    joins = pl.all_horizontal(*same, idle <= _LONGEST_HOST_GAP_NS).fill_null(False)
    runs = calls.with_columns(run=(~joins).cum_sum()).filter("single")
    return runs.select("run", "name", "looped", "call", "own_ns", "item", "item_ns")


def _started(nodes: pl.DataFrame) -> pl.DataFrame:
    """The first item that each call started, and the number of its items, in the order of calls."""
    items = (
        nodes.filter(pl.col("call").is_not_null())
        .select("call", "lane", "kind", "name", item="id", item_ns="duration_ns")
        .sort("call", maintain_order=True)
    )
    counts = items["call"].rle().struct.field("len")
    first = (pl.col("call") != pl.col("call").shift(1)).fill_null(True)
    return items.filter(first).with_columns(items=counts)


def _loops(launches: pl.DataFrame) -> Iterator[Segment]:
    """A run that comes again, or is known to, is the body of a loop; else the passes of a loop within it, if any."""
    table = launches.group_by("run", maintain_order=True).agg(
        pl.col("name").to_physical(), pl.col("looped").first()
    )
    runs: list[list[int]] = table["name"].to_list()
    seen = Counter(map(tuple, runs))
    long = _LONG_RUN * launches.height
    begins = accumulate(map(len, runs), initial=0)
    for run, known, begin in zip(runs, table["looped"], begins, strict=False):
        for start, size in _passes(run, known or seen[tuple(run)] > 1, len(run) >= long):
            yield begin + start, size


def _passes(run: Names, again: bool, long: bool) -> Iterator[Segment]:
    """The whole run if it comes again; what it repeats from its start to its end; of a long one, what it repeats."""
    if again:
        yield 0, len(run)
    elif 2 * (exact := _period(run)) <= len(run):
        yield from ((start, min(exact, len(run) - start)) for start in range(0, len(run), exact))
    elif long and (length := period(pl.Series(run))):
        yield from _repetitions(run, length)


def _repetitions(run: Names, length: int) -> Iterator[Segment]:
    """Sequences of this length that come twice in a row or more, wherever in the run they begin."""
    place, one = 0, run[:0]
    while place + length <= len(run):
        here = run[place : place + length]
        if here in (one, run[place + length : place + 2 * length]):
            yield place, length
            place, one = place + length, here
        else:
            place += 1


def _period(run: Names) -> int:
    """The shortest distance at which a sequence repeats itself to its end (Knuth, Morris and Pratt's borders)."""
    borders = [0] * len(run)
    length = 0
    for place in range(1, len(run)):
        while length and run[place] != run[length]:
            length = borders[length - 1]
        length += run[place] == run[length]
        borders[place] = length
    return len(run) - borders[-1]


def _in_a_row(launches: pl.DataFrame, kernels: tuple[str, ...]) -> Iterator[Segment]:
    """Where launches of these kernels follow one another within a run; no launch belongs to two such places."""
    follow = [pl.col("name").shift(-place) == kernel for place, kernel in enumerate(kernels)]
    one_run = pl.col("run") == pl.col("run").shift(1 - len(kernels))
    matches = launches.select(pl.all_horizontal(one_run, *follow).fill_null(False)).to_series()
    behind = 0
    for begin in matches.arg_true().to_list():
        if begin >= behind:
            yield begin, len(kernels)
            behind = begin + len(kernels)


def _joined(launches: pl.DataFrame, segments: Iterable[Segment]) -> pl.DataFrame:
    """The launches of all segments of two or more, with the number of the segment, its size and their place in it."""
    table = (
        pl.DataFrame(
            [segment for segment in segments if segment[1] > 1],
            schema={"first": pl.Int64, "size": pl.Int64},
            orient="row",
        )
        .with_columns(segment=pl.int_range(pl.len(), dtype=pl.Int64), place=pl.int_ranges("size"))
        .explode("place")
        .select("segment", "place", "size", launch=pl.col("first") + pl.col("place"))
    )
    picked = launches.select("call", "item", "item_ns", "own_ns")[table["launch"]]
    return pl.concat([table, picked], how="horizontal")


def _one_launch(graph: Graph, joined: pl.DataFrame, gap_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Each segment as one call of `call_ns`: the others vanish, with the host time and the questions between them."""
    calls = _between(graph, joined)
    first = joined.filter(pl.col("place") == 0).select(id="call", total="call_ns")
    inner = joined.filter(pl.col("place") > 0)["item"]
    effects, count = graph.edges["effect"], graph.nodes.height
    into_call = (pl.col("kind") == "program") & pl.lit(_among(calls["id"], count).gather(effects))
    into_item = (pl.col("kind") == "stream") & pl.lit(_among(inner, count).gather(effects))
    edges = graph.edges.with_columns(
        pl.when(into_call).then(0).when(into_item).then(gap_ns).otherwise("lag_ns").alias("lag_ns")
    )
    return _with_durations(graph.nodes, pl.concat([first, calls], how="vertical_relaxed")), edges


def _among(rows: pl.Series, count: int) -> pl.Series:
    """For each of so many nodes, whether it is one of these rows."""
    return pl.repeat(False, count, eager=True).scatter(rows, True)


def _started_early(edges: pl.DataFrame, joined: pl.DataFrame, nodes: int) -> pl.DataFrame:
    """The items of a segment wait for the beginning of its call only, and then for one another."""
    items = joined.select(
        "item",
        head=pl.col("call").first().over("segment"),
        early=pl.min_horizontal(ASSUMED_GRAPH_START_NS - pl.col("call_ns"), 0),
    )
    head, early = (
        pl.zeros(nodes, pl.Int64, eager=True).scatter(items["item"], items[name]).gather(edges["effect"])
        for name in ("head", "early")
    )
    launch = (pl.col("kind") == "launch") & pl.lit(_among(items["item"], nodes).gather(edges["effect"]))
    return edges.with_columns(
        cause=pl.when(launch).then(head).otherwise("cause"),
        lag_ns=pl.when(launch).then(pl.col("lag_ns") + early).otherwise("lag_ns"),
    )


def _between(graph: Graph, joined: pl.DataFrame) -> pl.DataFrame:
    """Calls of a segment after its first, and every call of the thread between them."""
    host = numbered(graph).filter(pl.col("thread").is_not_null()).select("id", "thread")
    spans = joined.group_by("segment").agg(first=pl.col("call").min(), last=pl.col("call").max())
    spans = spans.with_columns(thread=graph.nodes["thread"].gather(spans["first"])).sort("first")
    joined_calls = host.join_asof(
        spans,
        left_on="id",
        right_on="first",
        by="thread",
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )
    inside = (pl.col("id") > pl.col("first")) & (pl.col("id") <= pl.col("last"))
    return joined_calls.filter(inside).select("id", total=pl.lit(0, pl.Int64))


def _with_durations(nodes: pl.DataFrame, totals: pl.DataFrame) -> pl.DataFrame:
    """The nodes with other durations: `totals` has the rows, `id`, and their new durations, `total`."""
    durations = nodes["duration_ns"].clone().scatter(totals["id"], totals["total"])
    return nodes.with_columns(durations)
