"""Windows of a recording: how they are written, and which rows belong to one."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.model.schema import conform
from rocm_perf.model.time_window import Span, TimeWindow, parse_window, within
from rocm_perf.model.trace import Trace


@pytest.mark.parametrize(
    ("text", "start_ns", "end_ns"),
    [
        ("10s..25s", 10 * 10**9, 25 * 10**9),
        ("10..25", 10 * 10**9, 25 * 10**9),
        ("0.5..", 5 * 10**8, None),
        ("..2min", 0, 120 * 10**9),
        ("250ms .. 750 us", 250 * 10**6, None),
        ("0..7ns", 0, 7),
    ],
)
def test_what_a_window_means(text: str, start_ns: int, end_ns: int | None) -> None:
    if text.startswith("250ms"):
        with pytest.raises(ValueError, match="ends before it starts"):
            parse_window(text)
        return
    assert parse_window(text) == TimeWindow(start_ns, end_ns)


@pytest.mark.parametrize(
    "text", ["", "..", "5", "5s", "a..b", "1h..2h", "-1..2", "2..1", "3..3", "0..1e9s", "0..99999999min"]
)
def test_what_is_not_a_window(text: str) -> None:
    with pytest.raises(ValueError, match=r"window|time|recording"):
        parse_window(text)


@pytest.mark.parametrize(
    "window", [TimeWindow(), TimeWindow(1, 2), TimeWindow(1_500_000_000, None), TimeWindow(0, 10**18 // 1000)]
)
def test_a_window_is_written_as_it_is_read(window: TimeWindow) -> None:
    assert parse_window(str(window)) == window


def test_a_window_from_the_start_includes_what_comes_before_the_first_known_time() -> None:
    assert TimeWindow(0, 5).at(100) == Span(None, 105)
    assert TimeWindow(5).at(100) == Span(105, None)


def test_rows_belong_to_the_window_they_start_in() -> None:
    rows = pl.DataFrame({"kernel": list("abc"), "start_ns": [10, 20, 30], "end_ns": [25, 26, 31]})
    table = conform("dispatches", rows)
    assert within("dispatches", table, Span(20, 30))["kernel"].to_list() == ["b"]
    assert within("dispatches", table, Span(None, 30))["kernel"].to_list() == ["a", "b"]
    assert within("dispatches", table, Span(20, None))["kernel"].to_list() == ["b", "c"]


def test_tables_without_times_and_processes_stay_whole() -> None:
    processes = conform("processes", pl.DataFrame({"pid": [7], "start_ns": [1]}))
    agents = conform("agents", pl.DataFrame({"agent_id": [4]}))
    assert within("processes", processes, Span(20, 30)).height == 1
    assert within("agents", agents, Span(20, 30)).height == 1


def test_a_part_of_a_trace_counts_from_its_first_start() -> None:
    rows = pl.DataFrame({"kernel": list("abc"), "start_ns": [110, 120, 130], "end_ns": [115, 125, 135]})
    calls = pl.DataFrame({"domain": "hip", "name": "hipLaunch", "start_ns": [100], "end_ns": [105]})
    trace = Trace(
        {"dispatches": conform("dispatches", rows).lazy(), "api_calls": conform("api_calls", calls)}
    )
    part = trace.part(TimeWindow(20, 30))
    assert part.table("dispatches")["kernel"].to_list() == ["b"]
    assert part.rows("api_calls") == 0


def test_what_has_no_time_belongs_to_the_window_without_a_start() -> None:
    rows = conform(
        "dispatches", pl.DataFrame({"kernel": ["k", "k"], "start_ns": [None, 5], "end_ns": [None, 6]})
    )
    windows = [Span(None, 5), Span(5, 7), Span(7, None)]
    assert [within("dispatches", rows, span).height for span in windows] == [1, 1, 0]


def test_readings_are_cut_by_their_time() -> None:
    """Their start_ns is that of thinned rows, and null for a single reading."""
    rows = conform(
        "samples",
        pl.DataFrame({"time_ns": [1, 5], "agent_id": [0, 0], "metric": ["power_w"] * 2, "value": [1.0, 2.0]}),
    )
    assert within("samples", rows, Span(2, 9))["time_ns"].to_list() == [5]


def test_what_is_in_two_windows() -> None:
    assert TimeWindow(0, 5).within(TimeWindow(3)) == TimeWindow(3, 5)
    assert TimeWindow(2).overlaps(TimeWindow(0, 3))
    assert not TimeWindow(0, 3).overlaps(TimeWindow(3, 9))
