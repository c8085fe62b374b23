"""Where one stream waits for another: recorded events, and starts that nothing in their own stream explains."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.trace import Trace

_TRACK = ["node", "pid", "track"]
# The longest that a signal takes between streams: 15 us on an MI300X between RCCL and a copy.
_SIGNAL_NS = 20_000


def event_waits(trace: Trace, number: int, origins: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Recorded waits for events: the last item before the event, and the first after the wait (cause, effect)."""
    links = (
        trace.lazy("links")
        .filter((pl.col("kind") == "event") & (pl.col("pass_id") == number))
        .join(origins.lazy(), on="node")
        .select(
            "node",
            pl.col("pid").fill_null(-1),
            "cause_track",
            "effect_track",
            pl.col("cause_ns") - pl.col("origin_ns"),
            pl.col("effect_ns") - pl.col("origin_ns"),
        )
        .drop_nulls()
        .collect()
    )
    if not links.height:
        return pl.DataFrame(schema={"cause": pl.Int64, "effect": pl.Int64})
    lanes = rows.filter(pl.col("lane_kind") == "stream")
    ended = lanes.select(*_TRACK, cause_ns=pl.col("end_ns"), cause=pl.col("item")).sort("cause_ns")
    started = lanes.select(*_TRACK, effect_ns=pl.col("start_ns"), effect=pl.col("item")).sort("effect_ns")
    with_causes = (
        links.rename({"cause_track": "track"})
        .sort("cause_ns")
        .join_asof(ended, on="cause_ns", by=_TRACK, strategy="backward", check_sortedness=False)
    )
    with_effects = (
        with_causes.drop("track")
        .rename({"effect_track": "track"})
        .sort("effect_ns")
        .join_asof(started, on="effect_ns", by=_TRACK, strategy="forward", check_sortedness=False)
    )
    return with_effects.select("cause", "effect").drop_nulls().unique(maintain_order=True)


def late_starts(rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Items that started when work of another lane of their GPU ended, later than launch and stream explain.

    `rule` is "wait" after a call that makes a stream wait for an event, else "room".
    """
    ready = pl.max_horizontal(pl.col("issued_ns") + pl.col("latency"), pl.col("before_end") + pl.col("gap"))
    late = rows.filter(pl.col("issued_ns").is_not_null() & (pl.col("start_ns") > ready)).join(
        known, left_on="item", right_on="effect", how="anti"
    )
    ended = rows.select(
        "node", "agent_id", pl.col("end_ns").alias("other_end"), cause=pl.col("item"), lane_of=pl.col("lane")
    )
    candidates = late.sort("start_ns").join_asof(
        ended.sort("other_end"),
        left_on="start_ns",
        right_on="other_end",
        by=["node", "agent_id"],
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )
    near = (pl.col("lane_of") != pl.col("lane")) & (
        (pl.col("start_ns") - pl.col("other_end") <= _SIGNAL_NS) & (pl.col("other_end") > ready)
    )
    waited = (pl.col("last_wait") < pl.col("call")) & (
        (pl.col("last_wait") > pl.col("before_call")) | pl.col("before_call").is_null()
    )
    return candidates.filter(near).select(
        "cause",
        effect=pl.col("item"),
        rule=pl.when(waited).then(pl.lit("wait")).otherwise(pl.lit("room")),
    )
