"""How many bytes each rank sent to each other one: of all-to-all exchanges, and of messages between two ranks."""

from __future__ import annotations

from math import ceil

import msgspec
import polars as pl

from rocm_perf.model.results.communication import Traffic

_MOST = 64  # rows and columns: beyond, neighbouring ranks share one
_ROUTE = {"sender": pl.Int64, "receiver": pl.Int64, "bytes": pl.Int64}


def traffic(calls: pl.DataFrame) -> Traffic | None:
    """The bytes between ranks; None where the recording does not say who sent to whom."""
    ranked = calls.drop_nulls("rank").with_columns(pl.col("rank").cast(pl.Int64))
    exchanges, messages = _exchanges(ranked), _messages(ranked)
    routes = pl.concat([exchanges, messages])
    if not routes.height:
        return None
    kinds = [kind for kind, rows in (("all_to_all", exchanges), ("send and recv", messages)) if rows.height]
    return _matrix(routes, " and ".join(kinds))


def _exchanges(calls: pl.DataFrame) -> pl.DataFrame:
    """What each rank sent in all-to-all exchanges: as much to each, unless the recording says how it was split."""
    rows = calls.filter((pl.col("name") == "all_to_all") & pl.col("size_bytes").is_not_null())
    members = {
        group: sorted(ranks)
        for group, ranks in rows.group_by("group").agg(pl.col("rank").unique()).iter_rows()
    }
    routes = [
        (rank, receiver, size)
        for rank, group, count, total, splits in rows.select(
            "rank", "group", "group_size", "size_bytes", "sent_bytes"
        ).iter_rows()
        if (receivers := _receivers(members[group], rank, count))
        for receiver, size in zip(receivers, _shares(splits, total, len(receivers)), strict=False)
    ]
    return pl.DataFrame(routes, schema=_ROUTE, orient="row")


def _receivers(recorded: list[int], rank: int, count: int | None) -> list[int]:
    """The ranks of a group: those recorded, if they are all; else the first ones, as in a group of all ranks; none
    where the rank is not one of them."""
    if count is None or len(recorded) == count:
        return recorded
    return list(range(count)) if rank < count else []


def _shares(splits: str | None, total: int, ranks: int) -> list[int]:
    if splits is None:
        return [total // ranks] * ranks
    try:
        return msgspec.json.decode(splits, type=list[int])
    except msgspec.MsgspecError:
        return []


def _messages(calls: pl.DataFrame) -> pl.DataFrame:
    """Messages between two ranks, each once: as sent, or as received where the sender was not recorded."""
    known = calls.drop_nulls(["peer", "size_bytes"])
    sent = known.filter(pl.col("name") == "send").select(
        sender="rank", receiver="peer", bytes=pl.col("size_bytes")
    )
    received = known.filter(pl.col("name") == "recv").select(
        sender="peer", receiver="rank", bytes=pl.col("size_bytes")
    )
    alone = received.join(sent, on=["sender", "receiver"], how="anti")
    return pl.concat([sent, alone])


def _matrix(routes: pl.DataFrame, basis: str) -> Traffic:
    ranks = sorted({*routes["sender"], *routes["receiver"]})
    together = ceil(len(ranks) / _MOST)
    place = {rank: number // together for number, rank in enumerate(ranks)}
    size = ceil(len(ranks) / together)
    cells = [[0] * size for _ in range(size)]
    for sender, receiver, sent in (
        routes.group_by("sender", "receiver").agg(pl.col("bytes").sum()).iter_rows()
    ):
        cells[place[sender]][place[receiver]] += sent
    return Traffic(ranks=tuple(ranks[::together]), sent_bytes=tuple(tuple(row) for row in cells), basis=basis)
