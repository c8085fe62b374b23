"""Changes to kernels, synchronisation and copies: each makes another graph of one, and says what it assumes.
What joins launches is in joined.py, what changes one rank or the links between ranks in rank_changes.py."""

from __future__ import annotations

import re
from typing import Protocol

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.graph.graph import EDGE_KINDS, RULE_NAMES, START, Graph
from rocm_perf.errors import UsageError
from rocm_perf.model.calls import SYNC_CALL
from rocm_perf.units import format_count

_MOST_NS = 1 << 62  # times are added as 64-bit integers
_COPY_HOLDS = ["default stream", "room", "wait"]  # why work of another stream waited for a copy
_COPY_RULES = ["own copy", "copy wait"]  # why a call that copies waited
_HOST_COPIES = ["H2D", "D2H"]
SMALL_BYTES = 1 << 16  # copies up to this size show what starting one takes


class Change(Protocol):
    """A change that turns one graph into another."""

    @property
    def title(self) -> str: ...

    def apply(self, graph: Graph) -> Graph: ...


def changed(graph: Graph, assumption: str, nodes: pl.DataFrame, edges: pl.DataFrame) -> Graph:
    """The graph with other nodes and edges, and what that assumes."""
    return replace(graph, nodes=nodes, edges=edges, assumptions=(*graph.assumptions, assumption))


def numbered(graph: Graph) -> pl.DataFrame:
    """The nodes with their row number, `id`."""
    return graph.nodes.with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))


def refuse_overflow(times: pl.Series, factor: float) -> None:
    """Raise UsageError where times that take `factor` times as long add up to more than can be counted."""
    if not float(times.cast(pl.Float64).abs().sum()) * factor < _MOST_NS:
        raise UsageError(
            f"{factor:g} times as long is more than can be timed", next_step="Give a factor nearer to 1."
        )


def names(nodes: pl.DataFrame, pattern: str) -> list[str]:
    """The names of the nodes that match the pattern."""
    return [name for name in nodes["name"].unique().to_list() if re.search(pattern, name)]


def where(column: str, rows: pl.Series, value: pl.Expr, target: str) -> pl.Expr:
    """`value` in the rows whose `column` is one of `rows`; else `target` as it is."""
    return pl.when(pl.col(column).is_in(rows.implode())).then(value).otherwise(target).alias(target)


def divided(times: pl.Expr, factor: float) -> pl.Expr:
    """The times `factor` times shorter, in whole nanoseconds."""
    return (times / factor).round().cast(pl.Int64)


class FasterKernels(msgspec.Struct, frozen=True):
    """Kernels whose name matches the pattern, or is exactly that text, take `factor` times less."""

    pattern: str
    factor: float
    exact: bool = False

    @property
    def title(self) -> str:
        return f"kernels {self.pattern} {self.factor:g} times faster"

    def apply(self, graph: Graph) -> Graph:
        is_kernel = pl.col("kind") == "kernel"
        kernels = graph.nodes.filter(is_kernel)
        matching = [self.pattern] if self.exact else names(kernels, self.pattern)
        if not matching or self.factor <= 0:
            raise UsageError(
                f"no kernel {self.pattern!r} can become {self.factor:g} times faster",
                next_step="Give a pattern that a kernel's name matches, and a factor above 0.",
            )
        refuse_overflow(graph.nodes["duration_ns"], 1 / self.factor)
        shorter = divided(pl.col("duration_ns"), self.factor)
        hit = is_kernel & pl.col("name").is_in(matching)
        hits = graph.nodes.select(hit).to_series()
        nodes = graph.nodes.with_columns(
            pl.when(hits).then(shorter).otherwise("duration_ns").alias("duration_ns")
        )
        # What started while such a kernel drained still does: the overlap becomes shorter with the kernel.
        overlaps = hits.gather(graph.edges["cause"]) & (graph.edges["lag_ns"] < 0)
        drained = divided(pl.col("lag_ns"), self.factor)
        edges = graph.edges.with_columns(pl.when(overlaps).then(drained).otherwise("lag_ns").alias("lag_ns"))
        count = format_count(len(matching), "kernel")
        return changed(graph, f"every dispatch of {count} takes 1/{self.factor:g} of its time", nodes, edges)


class SyncsRemoved(msgspec.Struct, frozen=True):
    """Stream and device syncs vanish, and small copies to the host no longer block; the last of each thread and stream
    stays.

    `wrappers` (see wrappers.py): the host time around each call that vanishes with it. Without, all of it stays.
    """

    wrappers: pl.DataFrame | None = None
    title: str = "synchronisations hoisted"

    def apply(self, graph: Graph) -> Graph:
        syncs = _syncs(graph)
        last = syncs.sort("id").unique(["thread", "waits_for"], keep="last")
        gone = syncs.join(last, on="id", how="anti")
        nodes = numbered(graph).with_columns(where("id", gone["call"], pl.lit(0), "duration_ns"))
        count = format_count(gone.height, "synchronising call")
        assumption = (
            f"{count} vanish, the last of each thread and stream stays; the host needs no result earlier"
        )
        edges = _unwaited(graph.edges, gone["id"])
        if self.wrappers is not None and self.wrappers.height:
            edges = _unwrapped(edges, gone.join(self.wrappers, on="call"))
            assumption += (
                "; what the framework does around each call, between two operators, vanishes as well"
            )
        return changed(graph, assumption, nodes.drop("id"), edges)


class SyncsNarrowed(msgspec.Struct, frozen=True):
    """Device-wide syncs wait only for the stream that their thread used last."""

    title: str = "device-wide synchronisations made stream-level"

    def apply(self, graph: Graph) -> Graph:
        used = _lanes_in_use(graph, _syncs(graph)).select(effect="id", used="lane_used")
        lanes = graph.nodes["lane"].gather(graph.edges["cause"])
        edges = graph.edges.with_columns(lane=lanes).join(
            used, on="effect", how="left", maintain_order="left"
        )
        other = (pl.col("rule") == "device sync") & (pl.col("lane") != pl.col("used"))
        return changed(
            graph,
            "a device-wide wait needs only the stream that its thread used last",
            graph.nodes,
            edges.filter(~other.fill_null(False)).drop("lane", "used"),
        )


class CopiesAsync(msgspec.Struct, frozen=True):
    """Copies no longer block their call or a synchronisation with nothing but them, and run at `gbps`, or as fast as
    the fastest that did not block.

    `overlapped`: kernels of the stream no longer wait for them either, nor does a synchronisation after them, but for
    small ones, whose result the host needs.
    """

    overlapped: bool = False
    gbps: float | None = None

    @property
    def title(self) -> str:
        return "copies " + ("overlapped" if self.overlapped else "asynchronous")

    def apply(self, graph: Graph) -> Graph:
        own = graph.edges.filter(pl.col("rule") == "own copy")
        nodes, speed = _faster_copies(numbered(graph), own["cause"], self.gbps)
        waits = graph.edges.filter((pl.col("kind") == "sync") & pl.col("cause").is_in(own["cause"].implode()))
        edges = _unwaited(graph.edges, waits["effect"])
        assumption = f"{format_count(own.height, 'copy', 'copies')} no longer block; {speed}"
        if self.overlapped:
            edges = _one_after_another(graph, _beside_copies(graph, edges))
            assumption += (
                "; neither kernels nor waits of the host wait for copies, which needs a second buffer; copies of one "
                "stream and direction still take turns"
            )
        return changed(graph, assumption, nodes.drop("id"), edges)


def _syncs(graph: Graph) -> pl.DataFrame:
    """Returns of stream and device syncs and of small copies to the host that waited, each with its call and the lane
    that it waits for (null: the device)."""
    returns = numbered(graph).filter(pl.col("kind") == "return")
    functions = [name for name in names(returns, SYNC_CALL) if "EventSynchronize" not in name]
    by_name = pl.col("name").is_in(functions)
    returns = returns.filter(by_name | pl.col("id").is_in(_read_backs(graph).implode()))
    calls = graph.edges.filter(pl.col("kind") == "call").select(call="cause", id="effect")
    waits = graph.edges.filter(pl.col("rule").is_in(["stream sync", *_COPY_RULES]))
    lanes = waits.select(id="effect").with_columns(waits_for=graph.nodes["lane"].gather(waits["cause"]))
    return returns.drop("call").join(calls, on="id").join(lanes, on="id", how="left")


def _read_backs(graph: Graph) -> pl.Series:
    """Returns of calls that read a small result back, as .item() does: a synchronisation by another name. A copy that
    was not recorded counts, for it waited, and only what goes to the host has to."""
    waits = graph.edges.filter(pl.col("rule").is_in(_COPY_RULES))
    copies = graph.nodes.select("kind", "name", "size_bytes")[waits["cause"]]
    small = (copies["name"] == "D2H") & (copies["size_bytes"] <= SMALL_BYTES)
    return waits.filter(small.fill_null(False) | (waits["rule"] == "copy wait"))["effect"]


def _unwaited(edges: pl.DataFrame, returns: pl.Series) -> pl.DataFrame:
    """The calls of these returns end when their own work is done, whatever the GPU does."""
    freed = pl.col("effect").is_in(returns.implode())
    return edges.filter(~(freed & (pl.col("kind") == "sync"))).with_columns(
        pl.when(freed & (pl.col("kind") == "call")).then(0).otherwise("lag_ns").alias("lag_ns")
    )


def _unwrapped(edges: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame:
    """The host's own time before these calls and after their returns, less what belongs to them."""
    before = gone.select(effect="call", before="before_ns")
    after = gone.select(cause="id", after="after_ns")
    both = edges.join(before, on="effect", how="left", maintain_order="left").join(
        after, on="cause", how="left", maintain_order="left"
    )
    less = pl.col("lag_ns") - pl.col("before").fill_null(0) - pl.col("after").fill_null(0)
    shorter = pl.when(pl.col("kind") == "program").then(pl.max_horizontal(less, 0)).otherwise("lag_ns")
    return both.with_columns(shorter.alias("lag_ns")).drop("before", "after")


def _lanes_in_use(graph: Graph, syncs: pl.DataFrame) -> pl.DataFrame:
    """Each sync with the lane of the last launch of its thread before it."""
    launches = graph.edges.filter(pl.col("kind") == "launch")
    used = pl.DataFrame(
        {
            "launch": launches["cause"],
            "thread": graph.nodes["thread"].gather(launches["cause"]),
            "lane_used": graph.nodes["lane"].gather(launches["effect"]),
        }
    )
    return syncs.sort("call").join_asof(
        used.sort("launch"), left_on="call", right_on="launch", by="thread", check_sortedness=False
    )


def _faster_copies(nodes: pl.DataFrame, blocked: pl.Series, gbps: float | None) -> tuple[pl.DataFrame, str]:
    """Blocked copies between host and GPU at that rate, which is bytes a nanosecond, after what the shortest takes."""
    copies = nodes.filter(
        (pl.col("kind") == "copy") & (pl.col("duration_ns") > 0) & (pl.col("size_bytes") > 0)
    )
    hosts = copies.filter(pl.col("name").is_in(_HOST_COPIES))
    free = hosts.filter(~pl.col("id").is_in(blocked.implode()))
    rate = gbps or free.select((pl.col("size_bytes") / pl.col("duration_ns")).max()).item()
    if not rate:
        return nodes, "they take as long as recorded, for no other copy shows a better rate"
    small = copies.filter(pl.col("size_bytes") <= SMALL_BYTES)["duration_ns"]
    latency = small.min() if small.len() else 0
    faster = pl.min_horizontal("duration_ns", latency + (pl.col("size_bytes") / rate).round().cast(pl.Int64))
    hit = hosts.filter(pl.col("id").is_in(blocked.implode()))["id"]
    how = "as given" if gbps else "as the fastest asynchronous copy"
    return nodes.with_columns(where("id", hit, faster, "duration_ns")), f"they reach {rate:.1f} GB/s, {how}"


def _beside_copies(graph: Graph, edges: pl.DataFrame) -> pl.DataFrame:
    """What came after a copy between host and GPU in its stream, or waited for it, now comes after the work before the
    copy, or after the start; work of other streams that waited for it no longer does."""
    lanes = numbered(graph).filter(pl.col("lane").is_not_null()).select("id", "lane", crosses=_crosses())
    worked = pl.when(~pl.col("crosses")).then("id").forward_fill().over("lane").fill_null(START)
    copies = lanes.with_columns(worked=worked).filter("crosses").select("worked", cause="id")
    gap = next((one.value_ns for one in graph.estimates if one.name == "queue gap, kernel"), 0)
    edges = edges.join(copies, on="cause", how="left", maintain_order="left")
    ends = (graph.nodes["start_ns"] + graph.nodes["duration_ns"]).gather(edges["worked"])
    starts = graph.nodes["start_ns"].gather(edges["effect"])
    to_copy = graph.nodes.select(_crosses()).to_series().gather(edges["effect"])
    edges = edges.with_columns(to_copy=to_copy, most=starts - ends)
    passed = (pl.col("kind") == "stream") & ~pl.col("to_copy") & pl.col("worked").is_not_null()
    large = pl.col("cause").is_in(_large(graph)["id"].implode()) & pl.col("worked").is_not_null()
    awaited = (pl.col("kind") == "sync") & large
    freed = pl.col("rule").is_in(_COPY_HOLDS) & ~pl.col("to_copy") & pl.col("worked").is_not_null()
    return (
        edges.filter(~freed)
        .with_columns(
            cause=pl.when(passed | awaited).then("worked").otherwise("cause"),
            lag_ns=pl.when(passed).then(pl.min_horizontal("most", pl.lit(gap))).otherwise("lag_ns"),
        )
        .drop("to_copy", "worked", "most")
    )


def _crosses() -> pl.Expr:
    """Whether a node is a copy between host and GPU; other copies are work of the GPU, like kernels."""
    return (pl.col("kind") == "copy") & pl.col("name").is_in(_HOST_COPIES).fill_null(False)


def _large(graph: Graph) -> pl.DataFrame:
    """Copies between host and GPU, but for those so small that the host may be reading a result back."""
    return numbered(graph).filter(_crosses() & (pl.col("size_bytes") > SMALL_BYTES))


def _one_after_another(graph: Graph, edges: pl.DataFrame) -> pl.DataFrame:
    """The edges, with one from each large copy to the next of its stream and direction."""
    turns = _large(graph).select(cause=pl.col("id").shift(1).over("lane", "name"), effect="id").drop_nulls()
    added = turns.select(
        "cause",
        "effect",
        kind=pl.lit("stream", EDGE_KINDS),
        rule=pl.lit("stream", RULE_NAMES),
        binding=False,
        lag_ns=pl.lit(0, pl.Int64),
    )
    return pl.concat([edges, added.select(edges.columns)]).sort("effect", maintain_order=True)
