"""What holds what: the edges of a graph. Cause and effect are node numbers; `usual` is the usual lag, null where the
lag is always as observed."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import grouped
from rocm_perf.analysis.graph import crossings, host
from rocm_perf.analysis.graph.default_stream import default_order
from rocm_perf.analysis.graph.estimates import usual, with_usual
from rocm_perf.analysis.graph.graph import EDGE_KINDS, RULE_NAMES, START
from rocm_perf.analysis.graph.parts import Parts
from rocm_perf.analysis.graph.silences import hidden_waits
from rocm_perf.model.trace import Trace


def edges_of(parts: Parts, trace: Trace, number: int, origins: pl.DataFrame) -> pl.DataFrame:
    links = crossings.event_waits(trace, number, origins, parts.calls, parts.items)
    return pl.concat(
        [
            host.program_edges(parts.calls, hidden_waits(parts.calls, parts.items, parts.waited)),
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
        rule=pl.when("by_queue").then(pl.lit("queue", RULE_NAMES)).otherwise(pl.lit("stream", RULE_NAMES)),
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


def _crossing_edges(parts: Parts, links: pl.DataFrame) -> pl.DataFrame:
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


def _sync_edges(parts: Parts) -> pl.DataFrame:
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


def _collective_edges(parts: Parts) -> pl.DataFrame:
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


def _end_edges(parts: Parts, extents: pl.DataFrame) -> pl.DataFrame:
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
