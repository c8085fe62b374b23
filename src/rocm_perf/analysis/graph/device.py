"""The GPU's side of the graph: kernels, copies and collectives with their launches, and the order of their streams."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.analysis.basis.keys import ordered, over, ranks, telling
from rocm_perf.analysis.basis.launched import with_calls
from rocm_perf.analysis.basis.passes import dispatches_by_kernel
from rocm_perf.analysis.graph.graph import NODE_KINDS
from rocm_perf.analysis.graph.host import placed
from rocm_perf.model.trace import Trace

_LANE_KINDS = pl.Enum(["copies", "queue", "stream"])  # lanes are numbered in this order
_QUEUE = ["node", "pid", "agent_id", "queue_id"]
_LANE = ["node", "pid", "agent_id", "lane_kind", "lane_id"]
# The share of a kernel that the next one of its stream may overlap: up to 5 % on an H200, while the last blocks drain.
DRAIN = 0.1
_MEMBER = ["node", "rank", "pid", "agent_id"]
_WHAT = ["collective", "size_bytes", "group", "group_size"]


def items(
    trace: Trace, number: int, origins: pl.DataFrame, calls: pl.DataFrame, owners: pl.DataFrame
) -> pl.DataFrame:
    """Everything that a GPU did, numbered by lane and start, each with the call that launched it.

    A lane is a stream, or a queue where no stream is recorded. An item without a stream keeps its place in its queue:
    it is in the lane of the item before it, `by_queue`.
    """
    rows = _with_streams(
        pl.concat([_dispatches(trace, number, origins), _copies(trace, number, origins)])
    ).with_columns(
        pl.when(pl.col("stream_id").is_not_null())
        .then(pl.lit("stream", _LANE_KINDS))
        .when((pl.col("kind") == "copy") & pl.col("queue_id").is_null())
        .then(pl.lit("copies", _LANE_KINDS))
        .otherwise(pl.lit("queue", _LANE_KINDS))
        .alias("lane_kind"),
        pl.coalesce("stream_id", "queue_id", pl.lit(-1)).alias("lane_id"),
    )
    rows = rows.with_columns(lane=ranks(_LANE, rows)).drop("stream_id", "queue_id")
    rows = ordered(with_calls(rows, owners), ["lane", "start_ns", "end_ns", "row"]).with_columns(
        item=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    return rows.rename({"lane_id": "track"}).with_columns(
        calls["start_ns"].gather(rows["call"]).alias("call_ns"),
        calls["end_ns"].gather(rows["call"]).alias("issued_ns"),
        calls["thread"].gather(rows["call"]),
        calls["last_wait"].gather(rows["call"]),
    )


def _with_streams(rows: pl.DataFrame) -> pl.DataFrame:
    """The items with `by_queue`, whether no stream is recorded; what came before them in their queue, or else after
    them, gives them one."""
    rows = rows.with_columns(by_queue=pl.col("stream_id").is_null())
    if rows["by_queue"].all() or not rows["by_queue"].any():
        return rows
    stream = pl.col("stream_id")
    beside = stream.forward_fill().backward_fill().over(_QUEUE, order_by=["start_ns", "end_ns"])
    return rows.with_columns(pl.when(pl.col("queue_id").is_null()).then(stream).otherwise(beside))


def _dispatches(trace: Trace, number: int, origins: pl.DataFrame) -> pl.DataFrame:
    rows = placed(dispatches_by_kernel(trace).lazy().with_row_index("row"), number, origins)
    kernels = rows.select(
        "row", *_placement(), pl.col("kernel").alias("name"), "graph_id", kind=pl.lit("kernel", NODE_KINDS)
    ).collect()
    collectives = _collectives(trace, number, origins)
    if not collectives.height:
        absent = {**_COLLECTIVE, "size_bytes": pl.Int64()}
        return kernels.select("kind", *_with_nulls(absent))
    return kernels.join(collectives, on=_SPAN, how="left").select(
        pl.when(pl.col("collective").is_null())
        .then("kind")
        .otherwise(pl.lit("collective", NODE_KINDS))
        .alias("kind"),
        *_COLUMNS,
    )


def _copies(trace: Trace, number: int, origins: pl.DataFrame) -> pl.DataFrame:
    rows = placed(trace.lazy("copies").with_row_index("row"), number, origins)
    device = pl.when(pl.col("kind") == "D2H").then("src_agent").otherwise("dst_agent")
    return (
        rows.with_columns(pl.coalesce("agent_id", device).alias("agent_id"))
        .select("row", *_placement(), pl.col("kind").cast(pl.Categorical).alias("name"), "size_bytes")
        .collect()
        .select(
            pl.lit("copy", NODE_KINDS).alias("kind"), *_with_nulls({**_COLLECTIVE, "graph_id": pl.Int64()})
        )
    )


def _with_nulls(absent: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """The columns of an item, null where its table has none of the kind."""
    return [pl.lit(None, absent[name]).alias(name) if name in absent else pl.col(name) for name in _COLUMNS]


_COLLECTIVE = {
    "collective": pl.String(),
    "group": pl.String(),
    "group_size": pl.Int64(),
    "collective_id": pl.Int64(),
}
_COLUMNS = ("name", "row", "start_ns", "end_ns", "node", "pid", "rank", "agent_id", "stream_id", "queue_id",
            "correlation_id", "graph_id", "size_bytes", *_COLLECTIVE)  # fmt: skip
_SPAN = ["node", "pid", "agent_id", "start_ns", "end_ns"]


def _placement() -> list[pl.Expr]:
    columns = ("start_ns", "end_ns", "node", "pid", "rank", "stream_id", "queue_id", "correlation_id")
    return [pl.col(name) for name in columns] + [pl.col("agent_id").fill_null(-1)]


def _collectives(trace: Trace, number: int, origins: pl.DataFrame) -> pl.DataFrame:
    rows = placed(trace.lazy("collectives"), number, origins).with_columns(pl.col("agent_id").fill_null(-1))
    return (
        rows.select(
            *_SPAN, pl.col("name").alias("collective"), "size_bytes", "group", "group_size", "collective_id"
        )
        .unique(_SPAN, keep="first", maintain_order=True)
        .collect()
    )


def with_befores(rows: pl.DataFrame) -> pl.DataFrame:
    """Each item with the one that its stream ran before it: the last to have ended by its start, or to be draining.

    Items of a lane that overlap it by more than that are not before it.
    """
    lanes = telling(["lane"], rows)
    rows = rows.with_columns(
        previous=over(pl.col("item").shift(1), lanes),
        previous_end=over(pl.col("end_ns").shift(1), lanes),
        drained=over(_drained().shift(1), lanes),
        reach=over(pl.col("end_ns").cum_max().shift(1), lanes),
    )
    in_order = (pl.col("drained") <= pl.col("start_ns")) & (pl.col("previous_end") == pl.col("reach"))
    simple = rows.select(in_order.fill_null(False)).to_series()
    rest = rows.filter(~simple & rows["previous"].is_not_null())
    rows = rows.with_columns(
        before=pl.when(simple).then("previous"), before_end=pl.when(simple).then("previous_end")
    )
    if rest.height:
        rows = rows.update(_last_ended(rest, rows), on="item")
    return rows.drop("previous", "previous_end", "drained", "reach").with_columns(
        before_call=pl.col("call").gather("before"),
        before_correlation=pl.col("correlation_id").gather("before"),
    )


def with_gpu_ends(rows: pl.DataFrame) -> pl.DataFrame:
    """Each item with `gpu_end`, the last end of what other streams of its GPU had started before it."""
    lanes = rows.select("node", "agent_id", "lane").unique("lane")
    shared = lanes.filter(pl.len().over("node", "agent_id") > 1)
    if not shared.height:
        return rows.with_columns(gpu_end=pl.lit(None, pl.Int64))
    in_order = ordered(rows.select("item", "node", "agent_id", "start_ns", "end_ns"), ["start_ns"]).select(
        "item", gpu_end=pl.col("end_ns").cum_max().shift(1).over("node", "agent_id")
    )
    return rows.with_columns(in_order.sort("item")["gpu_end"])


def _drained() -> pl.Expr:
    """When the next item of a stream may start: the last workgroups may still run, the stream is in order even so."""
    return pl.col("end_ns") - ((pl.col("end_ns") - pl.col("start_ns")) * DRAIN).cast(pl.Int64)


def _last_ended(rest: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The asof join of starts with ends, where items of a lane overlap; items without length precede nothing."""
    ended = rows.filter(pl.col("end_ns") > pl.col("start_ns")).select(
        "lane",
        _drained().alias("drained"),
        pl.col("end_ns").alias("before_end"),
        pl.col("item").alias("before"),
    )
    joined = (
        rest.select("item", "lane", "start_ns")
        .sort("start_ns")
        .join_asof(
            ended.sort("drained"),
            left_on="start_ns",
            right_on="drained",
            by="lane",
            strategy="backward",
            check_sortedness=False,
        )
    )
    return joined.select("item", "before", "before_end").drop_nulls()


def meetings(rows: pl.DataFrame, clocks: pl.DataFrame) -> pl.DataFrame:
    """Items of collectives with the number of their meeting and when its last member came.

    Members have one number (collective_id) on all ranks of a clock domain; without it, they are the n-th of one name,
    size and group on each rank. All of them overlap. `clocks`: the domain of each node that shares one with others.
    """
    members = rows.filter(pl.col("kind") == "collective").sort("start_ns", "item")
    members = members.join(clocks, on="node", how="left", maintain_order="left").with_columns(
        pl.coalesce("domain", -1 - pl.col("node").cast(pl.Int64)).alias("domain"),
        turn=pl.int_range(pl.len()).over([*_MEMBER, *_WHAT]),
    )
    by_order = [
        pl.when(pl.col("collective_id").is_null()).then(name).alias(name) for name in (*_WHAT, "turn")
    ]
    groups = members.group_by(["domain", "collective_id", *by_order], maintain_order=True).agg(
        "item",
        met_ns=pl.col("start_ns").max(),
        first_end=pl.col("end_ns").min(),
        size=pl.len(),
    )
    whole = (pl.col("size") > 1) & (pl.col("met_ns") <= pl.col("first_end"))
    return (
        groups.filter(whole)
        .select("item", "met_ns")
        .with_row_index("meeting")
        .explode("item")
        .cast({"meeting": pl.Int64})
    )
