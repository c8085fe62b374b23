"""Puts the graph of a recording together: nodes and edges from the host's and the GPU's side, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from rocm_perf.analysis.basis.clock_domains import node_domains
from rocm_perf.analysis.basis.keys import grouped
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.graph import crossings, device, host
from rocm_perf.analysis.graph.default_stream import default_order
from rocm_perf.analysis.graph.delays import with_delays, with_own_time
from rocm_perf.analysis.graph.estimates import usual, with_usual
from rocm_perf.analysis.graph.graph import EDGE_KINDS, NODE_KINDS, RULE_NAMES, START, Graph
from rocm_perf.analysis.graph.missing import missing
from rocm_perf.analysis.graph.waits import waits
from rocm_perf.model.results.path import Estimate
from rocm_perf.model.trace import Trace

_SPANS = ("dispatches", "copies", "api_calls", "ops", "ranges")
# At one instant: returns come first, then calls, then what they start, then what meets.
_FIRST, _RETURNS, _CALLS, _ITEMS, _MEETINGS, _TRANSFERS, _LAST = (pl.lit(turn, pl.Int8) for turn in range(7))
_MOST = 1 << 63  # times are 64-bit numbers
# What edges and nodes are made of; the rest of an item has done its work by then.
_KEPT = ["node", "pid", "agent_id", "rank", "lane_kind", "lane", "track", "kind", "name", "row", "size_bytes", "item",
         "start_ns", "end_ns", "call", "call_ns", "issued_ns", "last_wait", "before", "before_end", "before_call",
         "inner", "latency", "gap"]  # fmt: skip


@dataclass(frozen=True)
class _Parts:
    """The tables of the graph, their rows numbered as nodes: `into` where they begin, `out` where they end."""

    calls: pl.DataFrame
    items: pl.DataFrame
    met: pl.DataFrame
    waited: pl.DataFrame
    end: int
    estimates: list[Estimate]


@once_per_trace
def build(trace: Trace) -> Graph:
    """The graph of the timed pass: all processes and ranks, each clock domain from its own first start."""
    draft = _draft(trace, timed_pass(trace))
    return replace(draft, edges=_bound(draft.nodes, draft.edges))


def _draft(trace: Trace, number: int) -> Graph:
    """The graph, with the usual lag of each edge in place of its own. What it is made of takes more memory than it
    does, and is gone by the time its edges are sorted."""
    spans = domains(trace, number)
    origins = spans.select("node", "origin_ns")
    wall = int(spans["wall_ns"].max() or 0)  # type: ignore[arg-type]
    parts = _parts(trace, number, origins)
    nodes = _nodes(parts, wall)
    position = _places(nodes["id"])
    nodes = nodes.drop("id").with_columns(position.gather(nodes["call"]).alias("call"))
    aside = position.gather(parts.calls.filter(~pl.col("works"))["out"])
    edges = _placed(_edges(parts, trace, number, origins), position)
    return Graph(
        nodes=nodes,
        edges=pl.concat([edges, *_loose(nodes.height, edges, aside)], how="diagonal_relaxed", rechunk=True),
        wall_ns=wall,
        estimates=tuple(parts.estimates),
        missing=missing(trace, parts.calls, parts.items),
    )


def domains(trace: Trace, number: int) -> pl.DataFrame:
    """The first start, the last end and the wall time of the clock domain of each node: node, origin_ns, last_ns,
    wall_ns."""
    usable = (pl.col("pass_id") == number) & (pl.col("end_ns") >= pl.col("start_ns"))
    spans = [trace.lazy(name).filter(usable).select("node", "start_ns", "end_ns") for name in _SPANS]
    nodes = (
        pl.concat(spans)
        .group_by("node", maintain_order=True)
        .agg(pl.col("start_ns").min().alias("origin_ns"), pl.col("end_ns").max().alias("last_ns"))
        .collect()
        .join(node_domains(trace), on="node", how="left", maintain_order="left")
    )
    own = -1 - pl.col("node").cast(pl.Int64)
    nodes = nodes.with_columns(pl.coalesce("domain", own).alias("domain")).with_columns(
        pl.col("origin_ns").min().over("domain"), pl.col("last_ns").max().over("domain")
    )
    return nodes.drop("domain").with_columns(wall_ns=pl.col("last_ns") - pl.col("origin_ns"))


def _parts(trace: Trace, number: int, origins: pl.DataFrame) -> _Parts:
    calls, owners = host.host_calls(trace, number, origins)
    calls = host.with_sections(calls, trace, number, origins)
    items = device.items(trace, number, origins, calls, owners)
    items = device.with_gpu_ends(device.with_befores(items))
    waited = waits(calls, items)
    calls, estimates = with_own_time(calls, items, waited)
    issued = calls.filter("blocking").select("call", issued=pl.col("start_ns") + pl.col("own_ns"))
    items = items.join(issued, on="call", how="left", maintain_order="left").with_columns(
        issued_ns=pl.coalesce("issued", "issued_ns")
    )
    items, more = with_delays(items.drop("issued"))
    calls = host.with_works(calls, pl.concat([items["call"], waited["call"]]))
    return _numbered(calls, items, device.meetings(items, node_domains(trace)), waited, estimates + more)


def _numbered(
    calls: pl.DataFrame,
    items: pl.DataFrame,
    met: pl.DataFrame,
    waited: pl.DataFrame,
    estimates: list[Estimate],
) -> _Parts:
    """Node numbers: the start, calls, returns, items, arrivals at collectives, meetings, the end."""
    into = pl.col("call") + 1
    returns = 1 + calls.height
    calls = calls.with_columns(
        into=into,
        out=pl.when("blocking")
        .then(returns + pl.col("blocking").cum_sum() - 1)
        .otherwise(into)
        .cast(pl.Int64),
    )
    first = returns + int(calls["blocking"].sum())
    arrivals = first + items.height
    met = met.with_columns(arrival=arrivals + pl.int_range(pl.len(), dtype=pl.Int64))
    meetings = arrivals + met.height
    met = met.with_columns(node_id=meetings + pl.col("meeting"))
    end = meetings + met["meeting"].n_unique()
    items = (
        items.select(_KEPT)
        .join(met, on="item", how="left", maintain_order="left")
        .with_columns(out=first + pl.col("item"), into=pl.coalesce("arrival", first + pl.col("item")))
    )
    return _Parts(calls, items, met, waited, end, estimates)


# Nodes


def _nodes(parts: _Parts, wall: int) -> pl.DataFrame:
    calls, items, met = parts.calls, parts.items, parts.met
    host_columns = ("name", "thread", "rank", "section", "looped", "row")
    item_columns = ("name", "lane", "rank", pl.col("call") + 1, "size_bytes", "row")
    began = pl.coalesce("met_ns", "start_ns")
    frames = [
        _instant(START, "start", 0, _FIRST),
        calls.select(*host_columns, "kind", "start_ns", id="into", duration_ns="own_ns", turn=_CALLS),
        calls.filter("blocking").select(
            *host_columns,
            kind=pl.lit("return", NODE_KINDS),
            id="out",
            start_ns="end_ns",
            duration_ns=pl.lit(0),
            turn=_RETURNS,
        ),
        items.select(
            *item_columns,
            "kind",
            id="out",
            start_ns=began,
            duration_ns=pl.col("end_ns") - began,
            turn=pl.when(pl.col("met_ns").is_null()).then(_ITEMS).otherwise(_TRANSFERS),
        ),
        items.filter(pl.col("arrival").is_not_null()).select(
            *item_columns,
            "start_ns",
            id="arrival",
            kind=pl.lit("arrival", NODE_KINDS),
            duration_ns=pl.lit(0),
            turn=_ITEMS,
        ),
        met.unique("meeting", keep="first", maintain_order=True).select(
            id="node_id",
            start_ns="met_ns",
            kind=pl.lit("meeting", NODE_KINDS),
            name=pl.lit("meeting", pl.Categorical),
            duration_ns=pl.lit(0),
            turn=_MEETINGS,
        ),
        _instant(parts.end, "end", wall, _LAST),
    ]
    nodes = pl.concat(frames, how="diagonal_relaxed", rechunk=True)
    return nodes.sort(10 * pl.col("start_ns") + pl.col("turn"), maintain_order=True).drop("turn")


def _instant(number: int, kind: str, at_ns: int, turn: pl.Expr) -> pl.DataFrame:
    """The start or the end of all."""
    row = {"id": [number], "kind": [kind], "name": [kind], "start_ns": [at_ns], "duration_ns": [0]}
    types = {"kind": NODE_KINDS, "name": pl.Categorical()}
    return pl.DataFrame(row, schema_overrides=types).with_columns(turn=turn)


# Edges: cause and effect are node numbers; `usual` is the usual lag, null where the lag is always as observed


def _edges(parts: _Parts, trace: Trace, number: int, origins: pl.DataFrame) -> pl.DataFrame:
    links = crossings.event_waits(trace, number, origins, parts.calls, parts.items)
    return pl.concat(
        [
            host.program_edges(parts.calls),
            _call_edges(parts.calls),
            _launch_edges(parts.items),
            _stream_edges(parts.items),
            _assumed_edges(parts.items),
            _crossing_edges(parts, links),
            _sync_edges(parts),
            _collective_edges(parts),
            _end_edges(parts, host.extents(trace, number, origins)),
        ],
        how="diagonal_relaxed",
        rechunk=True,
    )


def _call_edges(calls: pl.DataFrame) -> pl.DataFrame:
    """Edges from the start of a blocking call to its return: never sooner than what it does by itself."""
    return calls.filter("blocking").select(
        cause="into",
        effect="out",
        kind=pl.lit("call", EDGE_KINDS),
        rule=pl.lit("call", RULE_NAMES),
        usual=pl.lit(0),
    )


def _launch_edges(items: pl.DataFrame) -> pl.DataFrame:
    """Edges from the launching call; what a graph starts after its first item is held by the order of its stream."""
    calls = items.filter(pl.col("call").is_not_null() & ~pl.col("inner"))
    return calls.select(
        cause=pl.col("call") + 1,
        effect="into",
        kind=pl.lit("launch", EDGE_KINDS),
        rule=pl.lit("correlation", RULE_NAMES),
        usual="latency",
    )


def _stream_edges(items: pl.DataFrame) -> pl.DataFrame:
    befores = items.filter(pl.col("before").is_not_null())
    return befores.select(
        cause=items["out"].gather(befores["before"]),
        effect="into",
        kind=pl.lit("stream", EDGE_KINDS),
        rule=pl.when(pl.col("lane_kind") == "stream")
        .then(pl.lit("stream", RULE_NAMES))
        .otherwise(pl.lit("queue", RULE_NAMES)),
        usual="gap",
    )


def _assumed_edges(items: pl.DataFrame) -> pl.DataFrame:
    order = crossings.assumed_order(items)
    return order.select(
        cause=items["out"].gather(order["cause"]),
        effect=items["into"].gather(order["effect"]),
        kind=pl.lit("stream", EDGE_KINDS),
        rule=pl.lit("assumed", RULE_NAMES),
    )


def _crossing_edges(parts: _Parts, links: pl.DataFrame) -> pl.DataFrame:
    late = crossings.late_starts(parts.items, links)
    default = default_order(parts.items, parts.calls, late)
    crossing = pl.concat(
        [
            links.with_columns(rule=pl.lit("event", RULE_NAMES)),
            late.cast({"rule": RULE_NAMES}),
            default.with_columns(rule=pl.lit("default stream", RULE_NAMES)),
        ]
    )
    return crossing.select(
        cause=parts.items["out"].gather(crossing["cause"]),
        effect=parts.items["into"].gather(crossing["effect"]),
        kind=pl.when(pl.col("rule") == "room")
        .then(pl.lit("capacity", EDGE_KINDS))
        .otherwise(pl.lit("event", EDGE_KINDS)),
        rule="rule",
        usual=pl.lit(0),
    )


def _sync_edges(parts: _Parts) -> pl.DataFrame:
    calls = parts.calls.select("call", "out", "name", "start_ns", returned=pl.col("end_ns"))
    pairs = parts.waited.join(calls, on="call")
    waiting = pairs.filter(pl.col("end_ns") > pl.col("start_ns")).sort("end_ns")
    last = waiting.unique("call", keep="last", maintain_order=True)
    table, estimates = usual(
        last.select("rule", value=pl.col("returned") - pl.col("end_ns")), "return", "rule"
    )
    parts.estimates.extend(estimates)
    return with_usual(pairs, table, "rule", "usual").select(
        cause=parts.items["out"].gather(pairs["item"]),
        effect="out",
        kind=pl.lit("sync", EDGE_KINDS),
        rule=pl.col("rule").cast(RULE_NAMES),
        usual="usual",
    )


def _collective_edges(parts: _Parts) -> pl.DataFrame:
    """Every member comes to the meeting; from there on the bytes move, on every member."""
    shape = {
        "kind": pl.lit("collective", EDGE_KINDS),
        "rule": pl.lit("members", RULE_NAMES),
        "usual": pl.lit(0),
    }
    leaving = parts.items.filter(pl.col("arrival").is_not_null())
    return pl.concat(
        [
            parts.met.select(cause="arrival", effect="node_id", **shape),
            leaving.select(cause="node_id", effect="out", **shape),
        ]
    )


def _end_edges(parts: _Parts, extents: pl.DataFrame) -> pl.DataFrame:
    """The last call of each thread that works with a GPU; it may go on after that. Where none does: of every thread."""
    threads = grouped(parts.calls, host.THREAD, pl.col("out", "end_ns", "works").last())
    extents = extents.join(threads, on=host.PROCESS, how="semi")
    threads = threads.join(extents, on=host.THREAD, how="full", coalesce=True)
    return threads.filter(pl.col("works") | ~pl.col("works").any()).select(
        cause=pl.col("out").fill_null(START),
        usual=pl.max_horizontal(pl.col("last_ns") - pl.col("end_ns").fill_null(0), 0),
        effect=pl.lit(parts.end, pl.Int64),
        kind=pl.lit("end", EDGE_KINDS),
        rule=pl.lit("end", RULE_NAMES),
    )


def _bound(nodes: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """The edges by effect, each with its lag; the one that explains a start is binding."""
    ends = (nodes["start_ns"] + nodes["duration_ns"]).gather(edges["cause"])
    edges = edges.with_columns(observed=nodes["start_ns"].gather(edges["effect"]) - ends)
    after_all = (pl.col("kind") == "end") & (pl.col("observed") > pl.col("usual"))
    edges = edges.select(
        "cause",
        "effect",
        "kind",
        "rule",
        "observed",
        lag_ns=pl.min_horizontal("observed", "usual"),
        after_all=after_all,
    )
    # The edge that explains a start comes last: the least between its usual lag and what was observed; of equals, the
    # first kind.
    late = (pl.col("observed") - pl.col("lag_ns")) * len(EDGE_KINDS.categories) + pl.col("kind").to_physical()
    edges = edges[_order(edges["effect"], edges.select(late).to_series())]
    binding = (pl.col("effect") != pl.col("effect").shift(-1)).fill_null(True)
    edges = edges.with_columns(binding=binding)
    unrecorded = pl.col("binding") & pl.col("after_all")
    return edges.select(
        "cause",
        "effect",
        pl.when(unrecorded).then(pl.lit("unrecorded", EDGE_KINDS)).otherwise("kind").alias("kind"),
        "rule",
        "binding",
        lag_ns=pl.when("binding").then("observed").otherwise("lag_ns"),
    )


def _order(rising: pl.Series, falling: pl.Series) -> npt.NDArray[np.intp]:
    """The rows in the order of two columns, equal ones as they are. As one number, where that is not too large: Timsort
    merges in one pass what was put together of parts in order."""
    first, second = rising.to_numpy(), falling.to_numpy()
    most, least = int(second.max(initial=0)), int(second.min(initial=0))
    if (int(first.max(initial=0)) + 1) * (most - least + 1) < _MOST:
        return np.argsort(first * (most - least + 1) + (most - second), kind="stable")
    return np.lexsort((-second, first))


def _placed(edges: pl.DataFrame, position: pl.Series) -> pl.DataFrame:
    """The edges between rows of the sorted nodes; none leads back in time."""
    places = {name: position.gather(edges[name]) for name in ("cause", "effect")}
    return edges.with_columns(**places).filter(pl.col("cause") < pl.col("effect"))


def _places(ids: pl.Series) -> pl.Series:
    """The row of each id; ids are the numbers from 0 on, each once."""
    rows = pl.int_range(ids.len(), dtype=pl.Int64, eager=True)
    return pl.zeros(ids.len(), pl.Int64, eager=True).scatter(ids, rows)


def _loose(count: int, edges: pl.DataFrame, aside: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What nothing holds is held by the start, and what holds nothing holds the end, unless it is set aside."""
    first = pl.DataFrame({"effect": _others(1, count, edges["effect"])}).select(
        cause=pl.lit(START, pl.Int64),
        effect="effect",
        kind=pl.lit("unrecorded", EDGE_KINDS),
        rule=pl.lit("unrecorded", RULE_NAMES),
    )
    last = pl.DataFrame({"cause": _others(1, count - 1, pl.concat([edges["cause"], aside]))}).select(
        cause="cause",
        effect=pl.lit(count - 1, pl.Int64),
        kind=pl.lit("end", EDGE_KINDS),
        rule=pl.lit("end", RULE_NAMES),
        usual=pl.lit(0, pl.Int64),
    )
    return first.filter(pl.col("effect") < count - (last.height > 0)), last


def _others(first: int, end: int, known: pl.Series) -> pl.Series:
    """The node numbers from `first` to before `end` that are not among the known ones."""
    other = pl.repeat(True, end, eager=True).scatter(known.filter(known < end), False)
    others: pl.Series = other.slice(first).arg_true().cast(pl.Int64) + first
    return others
