"""Where one stream waits for another: recorded events, and starts that nothing in their own stream explains."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import named, ordered, telling
from rocm_perf.analysis.graph.delays import ASSUMED_GAP_NS, SIGNAL_NS
from rocm_perf.model.trace import Trace

_GPU = ["node", "agent_id"]
_TRACK = ["node", "pid", "track"]
_RECORD_EVENT = r"EventRecord"


def event_waits(
    trace: Trace, number: int, origins: pl.DataFrame, calls: pl.DataFrame, rows: pl.DataFrame
) -> pl.DataFrame:
    """Recorded waits for events: the last item before the event, and the first after the wait (cause, effect)."""
    links = (
        trace.lazy("links")
        .filter((pl.col("kind") == "event") & (pl.col("pass_id") == number))
        .join(origins.lazy(), on="node")
        .select(
            "node",
            "pid",
            "cause_track",
            "effect_track",
            pl.col("cause_ns") - pl.col("origin_ns"),
            pl.col("effect_ns") - pl.col("origin_ns"),
        )
        .drop_nulls(["cause_track", "effect_track", "effect_ns"])
        .collect()
    )
    if not links.height:
        return pl.DataFrame(schema={"cause": pl.Int64, "effect": pl.Int64})
    links = links.with_columns(pl.col("pid").fill_null(_only_process(rows)))
    lanes = rows.filter(pl.col("lane_kind") == "stream")
    on_gpu = links.drop_nulls("cause_ns")
    on_host = links.filter(pl.col("cause_ns").is_null())
    pairs = [
        _between(on_gpu, lanes, ended="end_ns", started="start_ns"),
        _between(_recorded(on_host, calls), lanes, ended="call_ns", started="call_ns"),
    ]
    return pl.concat(pairs).unique(maintain_order=True)


def _only_process(rows: pl.DataFrame) -> int:
    """The process of all items, where there is one: some recorders do not say whose stream waited."""
    processes = rows["pid"].unique()
    return int(processes[0]) if processes.len() == 1 else -1


def _recorded(links: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Waits that the recorder timed on the host only: the last event that the process recorded before is the one."""
    events = calls.filter(named(calls["name"], pl.col("name").str.contains(_RECORD_EVENT))).select(
        "node", "pid", cause_ns="start_ns"
    )
    return links.drop("cause_ns").sort("effect_ns").join_asof(
        events.sort("cause_ns"),
        left_on="effect_ns",
        right_on="cause_ns",
        by=["node", "pid"],
        coalesce=False,
        check_sortedness=False,
    ).drop_nulls("cause_ns")  # fmt: skip


def _between(links: pl.DataFrame, lanes: pl.DataFrame, *, ended: str, started: str) -> pl.DataFrame:
    """The last item of the one stream by the time of the cause, the first of the other from that of the effect on."""
    before = (
        lanes.select(*_TRACK, cause_ns=ended, cause="item", cause_end="end_ns").drop_nulls().sort("cause_ns")
    )
    after = (
        lanes.select(*_TRACK, effect_ns=started, effect="item", start="start_ns")
        .drop_nulls()
        .sort("effect_ns")
    )
    with_causes = (
        links.rename({"cause_track": "track"})
        .sort("cause_ns")
        .join_asof(before, on="cause_ns", by=_TRACK, strategy="backward", check_sortedness=False)
    )
    with_effects = (
        with_causes.drop("track")
        .rename({"effect_track": "track"})
        .sort("effect_ns")
        .join_asof(after, on="effect_ns", by=_TRACK, strategy="forward", check_sortedness=False)
    )
    # Another event was meant where the times contradict it.
    possible = with_effects.filter(pl.col("cause_end") <= pl.col("start"))
    return possible.select("cause", "effect").drop_nulls()


def late_starts(rows: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Items that started later than launch and stream explain, when work of another lane of their GPU ended, or while
    a kernel of another lane still ran.

    `rule` is "wait" after a call that makes a stream wait for an event, else "room".
    """
    if not telling(["lane"], rows):  # there is no other lane
        return pl.DataFrame(schema={"cause": pl.Int64, "effect": pl.Int64, "rule": pl.String})
    ready = pl.max_horizontal(
        pl.col("issued_ns") + pl.col("latency"), pl.col("before_end") + pl.col("gap"), "event_ns"
    )
    awaited = known.select(item="effect", event_ns=rows["end_ns"].gather(known["cause"]) + SIGNAL_NS)
    awaited = awaited.group_by("item").agg(pl.col("event_ns").max())
    launched = rows.filter(pl.col("issued_ns").is_not_null())
    if awaited.height:
        launched = launched.join(awaited, on="item", how="left")
    else:
        launched = launched.with_columns(event_ns=pl.lit(None, pl.Int64))
    late = launched.filter(pl.col("start_ns") > ready).select(
        *_GPU, "item", "kind", "lane", "call", "start_ns", "last_wait", "before_call", ready=ready
    )
    ended = rows.select(*_GPU, other_end="end_ns", cause="item", lane_of="lane")
    candidates = late.sort("start_ns").join_asof(
        ended.sort("other_end"),
        left_on="start_ns",
        right_on="other_end",
        by=_GPU,
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )  # fmt: skip
    near = (pl.col("lane_of") != pl.col("lane")) & (
        (pl.col("start_ns") - pl.col("other_end") <= SIGNAL_NS) & (pl.col("other_end") > pl.col("ready"))
    )
    near = near.fill_null(False)
    waited = (pl.col("last_wait") < pl.col("call")) & (
        (pl.col("last_wait") > pl.col("before_call")) | pl.col("before_call").is_null()
    )
    just_ended = candidates.filter(near).select(
        "cause",
        effect=pl.col("item"),
        rule=pl.when(waited).then(pl.lit("wait")).otherwise(pl.lit("room")),
    )
    return pl.concat([just_ended, _crowded_out(candidates.filter(~near), rows)])


def _crowded_out(late: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Kernels that started long after they were ready, while one of another stream ran: its last blocks made room."""
    kernels = rows.filter(pl.col("kind") == "kernel")
    waiting = late.filter(
        (pl.col("kind") == "kernel") & (pl.col("start_ns") - pl.col("ready") > SIGNAL_NS)
    ).select("item", "lane", "ready", "start_ns", *_GPU)
    held = _holders(waiting, kernels)
    crowded = held.filter(
        (pl.col("holder_lane") != pl.col("lane")) & (pl.col("holder_end") > pl.col("start_ns"))
    )
    return crowded.select(cause="holder", effect="item", rule=pl.lit("room"))


def assumed_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Items without a recorded launch follow what their GPU ran last, or still runs, unless their stream explains
    their start: cause, effect."""
    alone = rows.filter(
        pl.col("call").is_null()
        & (pl.col("before_end").is_null() | (pl.col("start_ns") - pl.col("before_end") > ASSUMED_GAP_NS))
    )
    held = _holders(alone.select("item", "start_ns", *_GPU), rows)
    return held.select(cause="holder", effect="item").drop_nulls()


def _holders(starts: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The items with what their GPU was busy with at their start: of all that started before, the last to end."""
    rows = rows if starts.height else rows.clear()
    columns = rows.select(*_GPU, "start_ns", "end_ns", "item", "lane")
    busy = (
        ordered(columns, [*_GPU, "start_ns", "end_ns", "item"])
        .with_columns(reach=pl.col("end_ns").cum_max().over(_GPU))
        .filter(pl.col("end_ns") == pl.col("reach"))
        .select(*_GPU, began="start_ns", holder="item", holder_end="end_ns", holder_lane="lane")
    )
    return starts.sort("start_ns").join_asof(
        busy.sort("began"),
        left_on="start_ns",
        right_on="began",
        by=_GPU,
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
