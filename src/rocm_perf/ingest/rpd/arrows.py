"""Which call launched what, by the arrows of rpd2tracing.py: they name a thread and a queue with a time on each, and no
call and no operation."""

from __future__ import annotations

import polars as pl

_NEAR_NS = (
    2_000  # an arrow leaves up to 2 us before the end of its call, and times may be cut to microseconds
)
_TRACK = ["pid", "tid"]
_PLACE = ["agent_id", "queue_id", "start_ns"]


def with_arrows(tables: dict[str, pl.DataFrame], flows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables of calls, kernels and copies, with a correlation id where an arrow joins a call and an operation that
    no other arrow touches."""
    pairs = _pairs(_arrows(flows), tables["api_calls"], _operations(tables))
    called = pairs.select(row="call", correlation_id="arrow")
    joined = {"api_calls": _identified(tables["api_calls"], called)}
    for name in ("dispatches", "copies"):
        own = pairs.filter(pl.col("table") == name).select(row="place", correlation_id="arrow")
        joined[name] = _identified(tables[name], own)
    return {**tables, **joined}


def _identified(table: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    return table.with_row_index("row").join(ids, on="row", how="left", maintain_order="left").drop("row")


def _arrows(flows: pl.DataFrame) -> pl.DataFrame:
    """One row per arrow from a call to an operation: where it leaves, and where it arrives."""
    of_calls = flows.filter(pl.col("cat") != "fwdbwd").drop_nulls(["id", "pid", "tid", "ts"])
    leaves = of_calls.filter(pl.col("ph") == "s").select("cat", "id", *_TRACK, left_ns="ts")
    arrives = of_calls.filter(pl.col("ph") == "f").select(
        "cat", "id", agent_id="pid", queue_id="tid", start_ns="ts"
    )
    both = leaves.join(arrives, on=["cat", "id"], maintain_order="left")
    once = both.filter(~pl.struct("cat", "id").is_duplicated())
    return once.with_columns(arrow=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))


def _operations(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Kernels and copies that alone start at their time on their queue."""
    rows = pl.concat(
        tables[name].select(*_PLACE, table=pl.lit(name), place=pl.int_range(pl.len(), dtype=pl.UInt32))
        for name in ("dispatches", "copies")
    )
    return rows.filter(~pl.struct(_PLACE).is_duplicated())


def _pairs(arrows: pl.DataFrame, calls: pl.DataFrame, operations: pl.DataFrame) -> pl.DataFrame:
    """Arrows whose two ends are known, one for each call and each operation."""
    left = _calls_left(arrows, calls)
    both = arrows.select("arrow", *_PLACE).join(left, on="arrow").join(operations, on=_PLACE)
    return both.filter(~pl.col("call").is_duplicated() & ~pl.struct("table", "place").is_duplicated())


def _calls_left(arrows: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The call that each arrow leaves: the only one of its thread that is under way, else the only one that ends less
    than 2 us away."""
    rows = calls.select(*_TRACK, "start_ns", "end_ns", call=pl.int_range(pl.len(), dtype=pl.UInt32))
    rows = rows.drop_nulls([*_TRACK, "start_ns", "end_ns"])
    under_way = _under_way(arrows, rows)
    rest = arrows.join(under_way, on="arrow", how="anti")
    return pl.concat([under_way, _just_ended(rest, rows)])


def _under_way(arrows: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The last call that began before the arrow, if it has not ended, and all earlier ones have."""
    earlier = pl.col("end_ns").cum_max().shift(1).over(_TRACK)
    began = calls.sort("start_ns").with_columns(earlier_ns=earlier)
    last = (
        arrows.select("arrow", *_TRACK, "left_ns")
        .sort("left_ns")
        .join_asof(began, left_on="left_ns", right_on="start_ns", by=_TRACK, check_sortedness=False)
    )
    left, others = pl.col("left_ns"), pl.col("earlier_ns").fill_null(-_NEAR_NS)
    return last.filter(pl.col("end_ns") >= left, others < left).select("arrow", "call")


def _just_ended(arrows: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The first call that ends from 2 us before the arrow on, if that is until 2 us after it, and the next is later."""
    following = pl.col("end_ns").shift(-1).over(_TRACK)
    ended = calls.sort("end_ns").with_columns(following_ns=following)
    since = pl.col("left_ns") - _NEAR_NS
    first = (
        arrows.select("arrow", *_TRACK, "left_ns", since_ns=since)
        .sort("since_ns")
        .join_asof(
            ended,
            left_on="since_ns",
            right_on="end_ns",
            by=_TRACK,
            strategy="forward",
            coalesce=False,
            check_sortedness=False,
        )
    )
    until = pl.col("left_ns") + _NEAR_NS
    alone = pl.col("following_ns").is_null() | (pl.col("following_ns") > until)
    return first.filter(pl.col("end_ns") <= until, alone).select("arrow", "call")
