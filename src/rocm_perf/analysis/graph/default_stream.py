"""The order that the default stream imposes: its work waits for that of every blocking stream launched before it, and
what they are given later waits for it (CUDA C++ Programming Guide, "Legacy Default Stream"; HIP's null stream)."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.graph.device import DRAIN

_PLACE = ["node", "pid", "agent_id"]
_NO_STREAM = r"^(hip|cuda)Mem(cpy|set)(2D|3D|DtoH|HtoD|DtoD|ToSymbol|FromSymbol|ToArray|FromArray)?$"


def default_order(rows: pl.DataFrame, calls: pl.DataFrame, late: pl.DataFrame) -> pl.DataFrame:
    """Items of the default stream and of blocking ones, each after the last of the other stream that was launched
    before it: cause, effect.

    Recordings do not say which streams block. One does where a copy or a kernel was seen to wait for the other stream
    (`late`), and the two never overlapped.
    """
    candidates = _with_default(rows, calls)
    pairs = _blocking(rows, candidates, late) if candidates.height else candidates
    if not pairs.height:
        return pl.DataFrame(schema={"cause": pl.Int64, "effect": pl.Int64})
    launches = rows.drop_nulls("call_ns").select(
        "lane", "item", "call_ns", "start_ns", end=pl.col("end_ns") - _drain()
    )
    both_ways = pl.concat([pairs, pairs.select(default="other", other="default")])
    effects = launches.join(both_ways, left_on="lane", right_on="default").sort("call_ns")
    causes = launches.select("call_ns", "end", other="lane", cause="item").sort("call_ns")
    order = effects.drop("end").join_asof(
        causes, on="call_ns", by="other", allow_exact_matches=False, check_sortedness=False
    )
    return order.filter(pl.col("end") <= pl.col("start_ns")).select("cause", effect="item")


def _drain() -> pl.Expr:
    return ((pl.col("end_ns") - pl.col("start_ns")) * DRAIN).cast(pl.Int64)


def _with_default(rows: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Pairs of the default stream, which calls that name no stream use, and another stream of the same process and GPU:
    default, other."""
    lanes = rows.select(*_PLACE, "lane", "lane_kind").unique("lane").filter(pl.col("lane_kind") == "stream")
    if lanes.height < 2:
        return pl.DataFrame(schema={"default": pl.Int64, "other": pl.Int64})
    streams = rows.filter(pl.col("lane_kind") == "stream")
    unnamed = calls.filter(named(calls["name"], pl.col("name").str.contains(_NO_STREAM))).select("call")
    default = streams.join(unnamed, on="call", how="semi").select(*_PLACE, default="lane").unique()
    pairs = default.join(lanes.select(*_PLACE, other="lane"), on=_PLACE)
    return pairs.filter(pl.col("default") != pl.col("other")).select("default", "other")


def _blocking(rows: pl.DataFrame, pairs: pl.DataFrame, late: pl.DataFrame) -> pl.DataFrame:
    """The pairs of which one waited for the other, a copy among them, and that never overlapped."""
    what = rows.select("item", "lane", "kind")
    waits = (
        late.join(what, left_on="cause", right_on="item")
        .join(what, left_on="effect", right_on="item", suffix="_effect")
        .filter((pl.col("kind") == "copy") | (pl.col("kind_effect") == "copy"))
    )
    seen = pl.concat(
        [waits.select(default="lane", other="lane_effect"), waits.select(default="lane_effect", other="lane")]
    )
    waited = pairs.join(seen, on=["default", "other"], how="semi")
    overlapping = pl.concat([_overlaps(rows, waited), _overlaps(rows, waited, turned=True)])
    return waited.join(overlapping, on=["default", "other"], how="anti")


def _overlaps(rows: pl.DataFrame, pairs: pl.DataFrame, *, turned: bool = False) -> pl.DataFrame:
    """The pairs of which an item of the one starts while the other still runs: of the other stream, or `turned`."""
    first, second = ("other", "default") if turned else ("default", "other")
    running = rows.select(
        "start_ns", reach=(pl.col("end_ns") - _drain()).cum_max().over("lane"), **{second: pl.col("lane")}
    )
    starts = rows.select("start_ns", **{first: pl.col("lane")}).join(pairs, on=first)
    met = starts.sort("start_ns").join_asof(
        running.sort("start_ns"), on="start_ns", by=second, check_sortedness=False
    )
    return met.filter(pl.col("reach") > pl.col("start_ns")).select("default", "other").unique()
