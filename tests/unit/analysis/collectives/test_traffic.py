"""Who sent how much to whom."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.collectives.traffic import traffic
from rocm_perf.model import schema
from tests.unit.analysis.traces import Row


def calls(*rows: Row) -> pl.DataFrame:
    return schema.conform("collectives", pl.DataFrame(list(rows), infer_schema_length=None))


def exchange(rank: int, size: int, sent: str | None = None, **more: object) -> Row:
    return {
        "name": "all_to_all",
        "rank": rank,
        "size_bytes": size,
        "sent_bytes": sent,
        "group": "0",
        "group_size": 2,
        **more,
    }


def test_exchanges_split_as_recorded_or_evenly() -> None:
    result = traffic(calls(exchange(0, 100, "[30, 70]"), exchange(1, 40), exchange(1, 40)))
    assert result is not None
    assert (result.ranks, result.sent_bytes) == ((0, 1), ((30, 70), (40, 40)))
    assert result.basis == "all_to_all"


def test_members_of_a_group_are_the_ranks_that_took_part() -> None:
    result = traffic(calls(exchange(4, 10, "[1, 9]"), exchange(6, 10, "[8, 2]")))
    assert result is not None
    assert (result.ranks, result.sent_bytes) == ((4, 6), ((1, 9), (8, 2)))


def test_one_rank_of_a_group_that_is_not_known() -> None:
    assert traffic(calls(exchange(4, 10, "[1, 9]"))) is None


def test_messages_count_once() -> None:
    result = traffic(
        calls(
            {"name": "send", "rank": 0, "peer": 1, "size_bytes": 5},
            {"name": "recv", "rank": 1, "peer": 0, "size_bytes": 5},
            {"name": "recv", "rank": 1, "peer": 2, "size_bytes": 7},  # rank 2 was not recorded
        )
    )
    assert result is not None
    assert result.sent_bytes == ((0, 5, 0), (0, 0, 0), (0, 7, 0))


@pytest.mark.parametrize("rows", [[{"name": "all_reduce", "rank": 0, "size_bytes": 5}], []])
def test_nothing_to_say(rows: list[Row]) -> None:
    assert traffic(calls(*rows) if rows else schema.empty("collectives")) is None


def test_many_ranks_share_rows() -> None:
    ring: list[Row] = [
        {"name": "send", "rank": rank, "peer": (rank + 1) % 128, "size_bytes": 1} for rank in range(128)
    ]
    result = traffic(calls(*ring))
    assert result is not None
    assert (len(result.ranks), result.ranks[1], len(result.sent_bytes)) == (64, 2, 64)
    assert result.sent_bytes[0][:3] == (1, 1, 0)
    assert sum(map(sum, result.sent_bytes)) == 128
