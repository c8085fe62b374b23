"""Depth of ranges, against a stack."""

from __future__ import annotations

from random import Random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.ingest.nesting import with_depth
from rocm_perf.model import schema


def table(rows: list[tuple[int | None, int | None, int]]) -> pl.DataFrame:
    names = [
        {"name": str(i), "source": "roctx", "start_ns": start, "end_ns": end, "tid": tid}
        for i, (start, end, tid) in enumerate(rows)
    ]
    return schema.conform("ranges", pl.DataFrame(names, infer_schema_length=None))


@st.composite
def nested(draw: st.DrawFn, start: int = 0, end: int = 200, depth: int = 0) -> list[tuple[int, int, int]]:
    """Properly nested ranges within [start, end), with their depth; neighbours never touch."""
    found = []
    position = start
    while depth < 4 and end - position > 8 and draw(st.booleans()):
        begin = draw(st.integers(position, end - 6))
        finish = draw(st.integers(begin + 5, end - 1))
        found.append((begin, finish, depth))
        found += draw(nested(begin + 1, finish - 1, depth + 1))
        position = finish + 1
    return found


@given(nested(), st.randoms(use_true_random=False))
def test_depth_equals_the_construction(ranges: list[tuple[int, int, int]], random: Random) -> None:
    random.shuffle(ranges)
    if ranges:
        result = with_depth(table([(start, end, 1) for start, end, _ in ranges]))
        assert result["depth"].to_list() == [depth for _, _, depth in ranges]


def test_threads_do_not_nest_in_one_another() -> None:
    assert with_depth(table([(0, 10, 1), (2, 8, 2), (3, 5, 1)]))["depth"].to_list() == [0, 0, 1]


def test_marks_lie_inside_what_is_open_and_hold_nothing() -> None:
    assert with_depth(table([(0, 10, 1), (4, 4, 1), (4, 4, 1), (4, 6, 1), (5, 6, 1)]))["depth"].to_list() == [
        0,
        2,
        2,
        1,
        2,
    ]


def test_a_range_without_times_keeps_its_place() -> None:
    assert with_depth(table([(0, 10, 1), (None, None, 1), (1, 2, 1)]))["depth"].to_list() == [0, None, 1]
