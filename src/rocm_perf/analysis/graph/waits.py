"""What a blocking call of the host waited for. Recordings name neither stream nor event, so the times decide."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import named, ordered, over, telling
from rocm_perf.analysis.graph.host import PROCESS

_PAIRS = 1 << 20  # of a wait and a lane, at a time
_COPY_CALL = "Memcpy"
_COPY = "copy wait"
# A launch waits for room in its queue where so many are in it (680 on an A100, 1,022 are a limit of CUDA), and it
# then takes this long or longer.
_QUEUED = 256
_HELD_NS = 50_000
# How much of a copy from pageable memory is done when its call returns, at least: the last piece is staged by then, and
# on its way (0.77 to 0.99 on an H100 and an H200).
_COPIED = 0.75

# A wait's end may follow the work's by less than the usual return; by much less, and it waited for something else.
_EARLIEST_RETURN = 0.8
_SKEW_NS = 100_000  # between the clocks of host and GPU: 20 us in torch traces of an MI300X


def waits(calls: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a blocking call and an item that it waited for: call, item, rule, end_ns of the item."""
    pairs = [_own_copies(calls, rows), _full_queues(calls, rows)]
    syncs = pl.concat([calls.filter(pl.col("scope").is_not_null()), _unrecorded_copies(calls, rows)])
    if syncs.height and rows.height:
        last = _last_launched(syncs, rows)
        usual = _usual_return_ns(last.filter(pl.col("scope") != _COPY))
        pairs += [_device(last), _stream(last, usual), _event(syncs, rows, usual), _copy(last)]
    return pl.concat([frame.select("call", "item", "rule", "end_ns") for frame in pairs])


def _own_copies(calls: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Copies that had all but ended when the call that made them returned: of pageable memory, or asked to block."""
    copied = pl.col("start_ns") + _COPIED * (pl.col("end_ns") - pl.col("start_ns"))
    copies = rows.filter(
        (pl.col("kind") == "copy")
        & (copied <= pl.col("issued_ns"))
        & (pl.col("start_ns") >= pl.col("call_ns"))
    )
    names = calls.select("call", pl.col("name").alias("function"))
    copies = copies.join(names, on="call")
    copies = copies.filter(pl.col("function").cast(pl.String).str.contains(_COPY_CALL))
    return (
        copies.sort("end_ns")
        .unique("call", keep="last", maintain_order=True)
        .with_columns(rule=pl.lit("own copy"))
    )


def _full_queues(calls: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Launches that took long while hundreds of their stream had yet to run: they returned when one of those had."""
    lasted = pl.col("end_ns") - pl.col("start_ns")
    long = calls.filter(pl.col("scope").is_null() & (lasted > _HELD_NS)).select("call", returned_ns="end_ns")
    rows = rows if long.height else rows.clear()
    turn = pl.col("call_ns").rank("dense").over("lane").cast(pl.Int64)
    launches = rows.drop_nulls("call").select("lane", "call", turn=turn)
    held = long.join(launches.unique("call"), on="call").sort("returned_ns")
    done = pl.int_range(1, pl.len() + 1).over("lane")
    ended = rows.sort("end_ns").select("lane", "item", "end_ns", done=done)
    freed = held.join_asof(
        ended, left_on="returned_ns", right_on="end_ns", by="lane", coalesce=False, check_sortedness=False
    )
    return freed.filter(pl.col("turn") - pl.col("done") >= _QUEUED).with_columns(rule=pl.lit("full queue"))


def _unrecorded_copies(calls: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Calls that copy, where the copy itself was not recorded: they may have waited for the stream before it."""
    copies = named(calls["name"], pl.col("name").str.contains(_COPY_CALL))
    copying = calls.filter(pl.col("scope").is_null() & copies)
    copied = copying["call"].is_in(rows["call"].implode()) if copying.height else pl.lit(True)
    return copying.filter(~copied).with_columns(scope=pl.lit(_COPY))


def _last_launched(syncs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """For each wait and each lane of its process: the item launched last before it, unless that ended after it, or
    explains nothing. Waits times lanes may be many, so only some of the pairs exist at a time."""
    lanes = rows.select(*PROCESS, "lane", "agent_id").unique("lane")
    at_a_time = max(1, _PAIRS // lanes.height)
    return pl.concat(_last_in_lanes(part, lanes, rows) for part in syncs.iter_slices(at_a_time))


def _last_in_lanes(syncs: pl.DataFrame, lanes: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The same of some waits. Where a call must have waited for the item, a later end is a matter of the clocks."""
    pairs = syncs.select(
        *PROCESS, "call", "scope", "thread", "start_ns", pl.col("end_ns").alias("returned_ns")
    ).join(lanes, on=PROCESS)
    pairs = _in_use(pairs, rows)
    launched = pairs.sort("start_ns").join_asof(
        _launches(rows).select("lane", "launched_ns", "item", "end_ns"),
        left_on="start_ns",
        right_on="launched_ns",
        by="lane",
        strategy="backward",
        check_sortedness=False,
    )
    launched = launched.filter(pl.col("end_ns").is_not_null() & (pl.col("agent_id") == pl.col("used_agent")))
    for_all = pl.col("scope") == "device sync"
    sure = for_all | (pl.len().over("call") == 1)
    early = pl.col("end_ns") <= pl.col("returned_ns") + pl.when(sure).then(_SKEW_NS).otherwise(0)
    telling = for_all | (pl.col("end_ns") >= pl.col("start_ns")) | (pl.col("lane") == pl.col("used_lane"))
    return launched.filter(early & telling)


def _launches(rows: pl.DataFrame) -> pl.DataFrame:
    """Items in the order of their launches. One without a launch was launched no later than the next of its stream
    with one, so not after the one before it; where a lane has none at all, its own start has to do."""
    call, lanes = pl.col("call_ns"), telling(["lane"], rows)
    before = pl.when(over(call.count(), lanes) > 0).then(over(call.forward_fill(), lanes).fill_null(0))
    columns = rows.select("lane", "item", "call_ns", "start_ns", "end_ns", "thread", "agent_id")
    launched = columns.with_columns(launched_ns=pl.coalesce(before, "start_ns"))
    return ordered(launched, ["launched_ns", "lane", "start_ns"])


def _in_use(pairs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The lane and the GPU that the waiting thread used last; where that is unknown, any GPU."""
    used = _launches(rows.filter(pl.col("thread").is_not_null())).select(
        "thread",
        "launched_ns",
        pl.col("lane").alias("used_lane"),
        pl.col("agent_id").alias("used_agent"),
    )
    joined = pairs.sort("start_ns").join_asof(
        used,
        left_on="start_ns",
        right_on="launched_ns",
        by="thread",
        strategy="backward",
        check_sortedness=False,
    )
    return joined.with_columns(pl.col("used_agent").fill_null(pl.col("agent_id"))).drop("launched_ns")


def _usual_return_ns(last: pl.DataFrame) -> float:
    """The usual time from the end of the work to the return of the call, over calls that really waited."""
    waited = (
        last.filter(pl.col("end_ns").is_between("start_ns", "returned_ns"))
        .group_by("call")
        .agg((pl.col("returned_ns") - pl.col("end_ns")).min().alias("return_ns"))
    )
    usual = waited["return_ns"].median()
    return float(usual) if isinstance(usual, int | float) else 0.0


def _device(last: pl.DataFrame) -> pl.DataFrame:
    return last.filter(pl.col("scope") == "device sync").with_columns(rule=pl.col("scope"))


def _copy(last: pl.DataFrame) -> pl.DataFrame:
    """The work of the stream that the thread used last, where the call began before its end and returned after it."""
    waited = pl.col("end_ns").is_between("start_ns", "returned_ns", closed="right")
    mine = (pl.col("scope") == _COPY) & (pl.col("lane") == pl.col("used_lane"))
    return last.filter(mine & waited).with_columns(rule=pl.col("scope"))


def _stream(last: pl.DataFrame, usual_ns: float) -> pl.DataFrame:
    """One lane a wait: that of the work whose end explains the return; else the one that the thread used last."""
    late = pl.col("end_ns") > pl.col("start_ns")
    fits = late & (pl.col("end_ns") <= pl.col("returned_ns") - int(_EARLIEST_RETURN * usual_ns))
    ranked = last.filter(pl.col("scope") == "stream sync").with_columns(
        rule=pl.col("scope"),
        fit=pl.when(fits)
        .then(3)
        .when(late)
        .then(2)
        .when(pl.col("lane") == pl.col("used_lane"))
        .then(1)
        .otherwise(0),
    )
    best = ranked.sort("fit", "end_ns").unique("call", keep="last", maintain_order=True)
    return best.filter(pl.col("fit") > 0)


def _event(syncs: pl.DataFrame, rows: pl.DataFrame, usual_ns: float) -> pl.DataFrame:
    """The work of the process that ended last, early enough before the return of the call, and after its start."""
    asked = syncs.filter(pl.col("scope") == "event sync").select(
        *PROCESS,
        "call",
        "start_ns",
        rule=pl.col("scope"),
        until_ns=pl.col("end_ns") - int(_EARLIEST_RETURN * usual_ns),
    )
    rows = rows if asked.height else rows.clear()
    ended = rows.select(*PROCESS, "item", "end_ns").sort("end_ns")
    candidates = asked.sort("until_ns").join_asof(
        ended,
        left_on="until_ns",
        right_on="end_ns",
        by=PROCESS,
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )
    return candidates.filter(pl.col("end_ns") > pl.col("start_ns"))
