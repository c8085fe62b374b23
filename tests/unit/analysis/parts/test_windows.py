"""Runs that were recorded in windows: each is analysed by itself, and what lies between them counts for nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.analysis.basis import recorded
from rocm_perf.analysis.basis.recorded import fullest_part, recorded_parts, recorded_spans
from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.parts.populations import change_findings
from rocm_perf.analysis.parts.sampled import windows
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.timeline.build import timeline
from rocm_perf.api import compare, recordings_of
from rocm_perf.model import schema
from rocm_perf.model.document import Document
from rocm_perf.model.time_window import moment_of
from rocm_perf.model.trace import Trace
from rocm_perf.sim.workload import read_workload
from rocm_perf.units import NS_PER_MS
from tests.sim.recorded import recorded as simulated

WORKLOADS = Path(__file__).parents[4] / "examples" / "workloads"


@cache
def whole_run(name: str = "sync_in_loop") -> Trace:
    return simulated(read_workload(WORKLOADS / f"{name}.toml"))


def origin(trace: Trace) -> int:
    return int(trace.table("api_calls")["start_ns"].min())  # type: ignore[arg-type]


def sampled(trace: Trace, *spans_ms: tuple[float, float]) -> Trace:
    """What starts in the spans, which count from the first call."""
    since = origin(trace)
    spans = [(since + int(start * NS_PER_MS), since + int(end * NS_PER_MS)) for start, end in spans_ms]
    tables = {name: _inside(name, trace.table(name), spans) for name in trace}
    rows = [(number, *span, 1) for number, span in enumerate(spans, start=1)]
    table = pl.DataFrame(rows, ["window", "start_ns", "end_ns", "pid"], orient="row")
    return Trace({**tables, "windows": schema.conform("windows", table)}, trace.run)


def _inside(name: str, table: pl.DataFrame, spans: list[tuple[int, int]]) -> pl.DataFrame:
    moment = moment_of(name)
    if moment is None:
        return table
    return table.filter(pl.any_horizontal(pl.col(moment).is_between(*span, closed="left") for span in spans))


@cache
def document() -> Document:
    return examine(samples(), "run")


@cache
def samples() -> Trace:
    return sampled(whole_run(), (1, 2), (4, 5), (6, 7.5))


@pytest.mark.parametrize("name", ["copy_in_loop", "slivers", "softmax", "sync_in_loop"])
def test_the_windows_of_an_even_run_say_first_what_all_of_it_says(name: str) -> None:
    run = whole_run(name)
    wall = (int(run.table("dispatches")["end_ns"].max()) - origin(run)) / NS_PER_MS  # type: ignore[arg-type]
    parts = sampled(run, (0.2 * wall, 0.4 * wall), (0.5 * wall, 0.7 * wall), (0.75 * wall, 0.95 * wall))
    assert examine(parts, "run").findings[0].id == examine(run, "run").findings[0].id


def test_each_window_is_cut_out_with_the_work_that_runs_on() -> None:
    parts = recorded_parts(samples())
    assert [part.number for part in parts] == [1, 2, 3]
    assert sum(part.trace.rows("dispatches") for part in parts) == samples().rows("dispatches")
    assert str(parts[1].window) == "0.003s..0.004s"
    fullest = fullest_part(samples())
    assert fullest is not None
    assert fullest.number == 3


def test_the_time_between_windows_is_neither_idle_nor_wall() -> None:
    gpu, idle = document().devices[0], document().gaps
    lasted_ms = 3.5
    assert gpu.window_ns + gpu.idle_ns < 2 * lasted_ms * NS_PER_MS
    assert (document().wall_ns or 0) <= lasted_ms * NS_PER_MS
    assert (idle.longest_ns or 0) < NS_PER_MS
    across = device_times(samples())[0]
    assert across.window_ns > 6 * NS_PER_MS  # as one timeline, it would have been most of it
    assert gpu.busy_ns <= across.busy_ns


def test_busy_share_and_steps_are_those_of_the_whole_run() -> None:
    whole = examine(whole_run(), "run")
    assert document().devices[0].busy.value == pytest.approx(whole.devices[0].busy.value, rel=0.05)
    assert document().phases.step_ns.value == pytest.approx(whole.phases.step_ns.value, rel=0.05)
    assert document().findings[0].id == whole.findings[0].id
    assert document().judged_steps == sum(row.steps for row in document().windows.rows)


def test_the_share_of_the_time_that_was_recorded_is_said() -> None:
    share = document().windows.share
    assert share.value == pytest.approx(3.5 / 6.5)
    assert windows(whole_run()).unavailable
    assert not recorded_parts(whole_run())


def test_windows_of_several_processes_that_overlap_are_one() -> None:
    rows = pl.DataFrame(
        {"window": [1, 1, 2], "start_ns": [0, 5, 50], "end_ns": [10, 15, 60], "pid": [1, 2, 1]}
    )
    trace = Trace({"windows": schema.conform("windows", rows)})
    assert recorded_spans(trace) == ((0, 15), (50, 60))


@pytest.mark.whole
def test_of_very_many_windows_some_are_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "MOST_PARTS", 3)
    trace = sampled(whole_run(), *((start, start + 0.4) for start in (1, 2, 3, 4, 5, 6, 7)))
    assert [part.number for part in recorded_parts(trace)] == [1, 4, 7]
    assert any("3 of 7 windows are analysed" in notice for notice in examine(trace, "run").run.notices)


def test_a_change_along_the_run_is_told() -> None:
    spans = tuple((start / 4 + 0.3, start / 4 + 0.5) for start in range(11))
    fast, slow = (sampled(whole_run(name), *spans) for name in ("sync_hoisted", "sync_in_loop"))
    rows = [windows(trace).rows for trace in (fast, slow)]
    assert not change_findings(windows(slow))
    several = windows(_one_after_another(fast, slow))
    (busy, *_) = several.spreads
    assert len(several.rows) == len(rows[0]) + len(rows[1])
    assert [level.first_window for level in busy.levels] == [1, len(rows[0]) + 1]
    assert busy.levels[0].median > busy.levels[1].median
    assert "busy share changes along the run" in change_findings(several)[0].title


def _one_after_another(first: Trace, second: Trace) -> Trace:
    """Two runs as one, the second a second later."""
    later = 10**9
    moved = {
        name: second.table(name).with_columns(
            pl.col(column) + later
            for column in ("start_ns", "end_ns", "time_ns")
            if column in second.table(name)
        )
        for name in ("dispatches", "api_calls", "windows")
    }
    return Trace(
        {
            name: pl.concat([first.table(name), moved[name]]) if name in moved else first.table(name)
            for name in first
        },
        first.run,
    )


def test_the_timeline_is_that_of_one_window() -> None:
    shown = timeline(samples(), document())
    assert shown is not None
    assert shown.length_ns < 2 * NS_PER_MS
    assert "Window 3 of 3 alone" in shown.notes[0]


@pytest.mark.whole
def test_windows_are_compared_as_a_population() -> None:
    assert [recording.label for recording in recordings_of(samples(), "run")] == [
        "run 0s..0.001s",
        "run 0.003s..0.004s",
        "run 0.005s..0.0065s",
    ]
    faster = sampled(whole_run("sync_hoisted"), (1, 2), (2.5, 3.5))
    comparison = compare(samples(), faster)
    assert [len(side.runs) for side in (comparison.base, comparison.new)] == [3, 2]
    assert "as long as was asked for" in (comparison.wall_doubt or "")
