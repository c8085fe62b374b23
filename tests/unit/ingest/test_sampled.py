"""Windows that a profiler says nothing about are told by the pauses between them."""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest.sampled import told_windows
from rocm_perf.model import schema
from rocm_perf.model.window import Window

SECOND = 10**9
EVERY_MINUTE = Window(duty=0.1, period_s=60)


def kernels(*starts_s: float, pid: int = 7) -> pl.DataFrame:
    starts = [int(start * SECOND) for start in starts_s]
    rows = {"kernel": "k", "start_ns": starts, "end_ns": [start + SECOND // 2 for start in starts]}
    columns = pl.DataFrame(rows).with_columns(node=pl.lit(0), pid=pl.lit(pid), pass_id=pl.lit(0))
    return schema.conform("dispatches", columns)


def told(table: pl.DataFrame) -> list[tuple[int, int, float, float]]:
    windows = told_windows({"dispatches": table}, EVERY_MINUTE)
    seconds = [(pl.col(name) / SECOND).round(3) for name in ("start_ns", "end_ns")]
    return windows.select("pid", "window", *seconds).rows()


def test_a_pause_as_long_as_asked_for_parts_two_windows() -> None:
    assert told(kernels(27, 28, 32.5, 87, 92, 147.3)) == [
        (7, 1, 27, 33),
        (7, 2, 87, 92.5),
        (7, 3, 147.3, 147.8),
    ]


def test_idle_time_within_a_window_does_not() -> None:
    assert told(kernels(27, 32.9)) == [(7, 1, 27, 33.4)]


def test_each_process_has_windows_of_its_own() -> None:
    both = pl.concat([kernels(27, 87), kernels(30, 91, pid=8)])
    assert [row[:3] for row in told(both)] == [(7, 1, 27), (7, 2, 87), (8, 1, 30), (8, 2, 91)]


def test_nothing_recorded_is_no_window() -> None:
    assert told(kernels()) == []
    assert told_windows({}, EVERY_MINUTE).is_empty()
