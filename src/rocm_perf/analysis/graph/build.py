"""Puts the graph of a recording together: nodes and edges from the host's and the GPU's side, in the order of time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.clock_domains import node_domains
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.profiled_times import only_lengths
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.graph.edges import edges_of
from rocm_perf.analysis.graph.graph import EDGE_KINDS, NODE_KINDS, RULE_NAMES, START, Graph
from rocm_perf.analysis.graph.missing import missing
from rocm_perf.analysis.graph.parts import Parts, parts_of
from rocm_perf.model.trace import Trace

_SPANS = ("dispatches", "copies", "api_calls", "ops", "ranges")
# At one instant: returns come first, then calls, then what they start, then what meets.
_FIRST, _RETURNS, _CALLS, _ITEMS, _MEETINGS, _TRANSFERS, _LAST = (pl.lit(turn, pl.Int8) for turn in range(7))
_MOST = 1 << 63  # times are 64-bit numbers


@once_per_trace
def build(trace: Trace) -> Graph:
    """The graph of the timed pass: all processes and ranks, each clock domain from its own first start."""
    why = only_lengths(trace)
    draft = _draft(Trace({}, trace.run) if why else trace, timed_pass(trace))
    return replace(draft, edges=_bound(draft.nodes, draft.edges), missing=(why,) if why else draft.missing)


def _draft(trace: Trace, number: int) -> Graph:
    """The graph, with the usual lag of each edge in place of its own. What it is made of takes more memory than it
    does, and is gone by the time its edges are sorted."""
    spans = domains(trace, number)
    origins = spans.select("node", "origin_ns")
    wall = int(spans["wall_ns"].max() or 0)  # type: ignore[arg-type]
    parts = parts_of(trace, number, origins)
    nodes = _nodes(parts, wall)
    position = _places(nodes["id"])
    nodes = nodes.drop("id").with_columns(position.gather(nodes["call"]).alias("call"))
    aside = position.gather(parts.calls.filter(~pl.col("works"))["out"])
    edges = _placed(edges_of(parts, trace, number, origins), position)
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


def _nodes(parts: Parts, wall: int) -> pl.DataFrame:
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
