"""Which span was open at a moment, by track."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.analysis.basis.open_spans import open_at

SPANS = {"start_ns": [20, 0, 0], "end_ns": [30, 10, 15], "pid": [1, 1, None], "name": ["b", "a", "c"]}


def opened(moments: list[int | None], pids: list[int | None], track: list[str]) -> list[str | None]:
    rows = pl.DataFrame({"pid": pids}, {"pid": pl.Int64})
    moment = pl.Series("moment", moments, pl.Int64)
    return open_at(rows, pl.DataFrame(SPANS), moment, track, "name").to_list()


def test_a_span_is_open_from_its_beginning_to_before_its_end() -> None:
    assert opened([0, 9, 10, 19, 20, 29, 30], [1] * 7, ["pid"]) == ["a", "a", None, None, "b", "b", None]


def test_nothing_is_open_before_the_first_or_at_no_moment() -> None:
    assert opened([-1, None, 5], [1, 1, 1], ["pid"]) == [None, None, "a"]


def test_null_is_a_track_of_its_own() -> None:
    assert opened([12, 12, 12], [None, 1, 2], ["pid"]) == ["c", None, None]


@pytest.mark.parametrize("moments", [[5, 25, 40], [5, 25, None]])
def test_without_tracks_all_spans_count(moments: list[int | None]) -> None:
    assert opened(moments, [7, 7, 7], []) == ["c", "b", None]


def test_no_spans_are_never_open() -> None:
    none = pl.DataFrame(SPANS).clear()
    rows = pl.DataFrame({"pid": [1, 2]})
    for track in ([], ["pid"]):
        assert open_at(rows, none, pl.Series([1, 2]), track, "name").to_list() == [None, None]
