"""The length of a step is the median, a hiccup divides no run, and marked steps are all kept."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.phases.build import phases
from rocm_perf.model.results.phases import Phases, StepSpread
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.phases import phase_line
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

US = 1_000
MS = 1_000_000


def steps_at(starts: Sequence[int], names: str = "ab", odd: Sequence[int] = ()) -> Trace:
    """Two kernels of 40 us from each start on, and an odd one at some moments."""
    rows: list[Row] = []
    calls: list[Row] = []
    moments = [(start + 45 * US * part, name) for start in starts for part, name in enumerate(names)]
    for place, (at, name) in enumerate(sorted([*moments, *((at, "odd") for at in odd)])):
        rows.append(kernel(name, at + 4 * US, at + 44 * US - place % 3, correlation_id=place, pid=1))
        calls.append(call("hipLaunchKernel", at, at + 3 * US, place, pid=1, tid=1))
    return trace(dispatches=rows, api_calls=calls)


def steady(division: Phases) -> int:
    (row,) = [row for row in division.rows if row.name == "steady"]
    return row.duration_ns


def test_a_hiccup_does_not_cut_a_run_in_two() -> None:
    """150 steps of 100 us, and 1.7 ms of nothing behind 83 of them."""
    starts = [100 * US * n + (1_700 * US if n >= 83 else 0) for n in range(150)]
    division = phases(steps_at(starts))
    assert division.steps == 149  # the end of the last is not known
    assert division.other_steps == 0
    assert division.step_ns.value == 100 * US
    assert division.odd_steps == 1
    assert [pause.duration_ns for pause in division.pauses] == [pytest.approx(1_700 * US, rel=0.02)]
    assert steady(division) == pytest.approx(149 * 100 * US + 1_700 * US, rel=0.01)


def test_nor_do_a_few_odd_launches() -> None:
    starts = [100 * US * n + (2_000 * US if n >= 60 else 0) for n in range(150)]
    odd = [100 * US * 60 + 500 * US, 100 * US * 60 + 600 * US]
    division = phases(steps_at(starts, odd=odd))
    assert (division.steps, division.odd_steps, division.step_ns.value) == (149, 1, 100 * US)


def test_a_long_pause_behind_a_warm_up_does() -> None:
    starts = [100 * US * n + (300 * MS if n >= 60 else 0) for n in range(150)]
    division = phases(steps_at(starts))
    assert (division.steps, division.pauses) == (89, ())


def test_a_step_is_as_long_as_the_median_and_its_spread_is_told() -> None:
    """Every fifth step takes 150 us."""
    starts, at = [], 0
    for n in range(101):
        starts.append(at)
        at += 150 * US if n % 5 == 4 else 100 * US
    division = phases(steps_at(starts))
    assert division.step_ns.value == 100 * US
    assert division.step_spread == StepSpread(100 * US, 150 * US, whole=False)
    assert "100 steps of 100 us (median; 8 of 10 100 us to 150 us)" in phase_line(division)


def three_marked(last_ms: int) -> Trace:
    """Three steps of torch's profiler; the host leaves the last one early, and the GPU works on."""
    starts = [0, 10 * MS, 20 * MS]
    ranges = [
        marked(f"ProfilerStep#{5 + n}", at, at + (10 if n < 2 else last_ms) * MS, pid=1, tid=1)
        for n, at in enumerate(starts)
    ]
    rows = [
        kernel("abc"[n], at + MS, at + 9 * MS + n, correlation_id=n, pid=1) for n, at in enumerate(starts)
    ]
    calls = [call("hipLaunchKernel", at, at + US, n, pid=1, tid=1) for n, at in enumerate(starts)]
    return trace(dispatches=rows, api_calls=calls, ranges=ranges)


@pytest.mark.parametrize("last_ms", [10, 6, 2])
def test_all_marked_steps_are_kept(last_ms: int) -> None:
    """The last one lasts to the end of its work: of what is left, "the end" would be nothing."""
    division = phases(three_marked(last_ms))
    assert division.steps == 3
    assert division.step_ns.value == 10 * MS
    assert steady(division) >= 29 * MS
    assert "end" not in {row.name for row in division.rows}


def test_a_host_that_runs_ahead_has_the_median_of_the_gpu() -> None:
    """Ten steps are launched within 1 ms; the GPU takes 1 ms for each, and 4 ms for the fifth."""
    lengths = [MS, MS, MS, MS, 4 * MS, MS, MS, MS, MS, MS]
    rows, at = [], 10 * US
    for n, length in enumerate(lengths):
        rows.append(kernel("work", at, at + length, correlation_id=n, pid=1))
        at += length
    calls = [call("hipLaunchKernel", 100 * US * n, 100 * US * n + US, n, pid=1, tid=1) for n in range(10)]
    ranges = [marked(f"step {n}", 100 * US * n, 100 * US * (n + 1), pid=1, tid=1) for n in range(10)]
    division = phases(trace(dispatches=rows, api_calls=calls, ranges=ranges))
    assert (division.steps, division.step_ns.value) == (10, MS)
    assert division.step_spread is not None
    assert division.step_spread.high_ns == pytest.approx(1.3 * MS)


def test_a_marked_step_begins_before_the_work_of_the_gpu() -> None:
    """What comes before it does not last until the first GPU work: the step loads its input first."""
    rows = [
        kernel("k" + "abcdefg"[n], 60 * MS + n * MS, 61 * MS + n * MS - n, correlation_id=n, pid=1)
        for n in range(7)
    ]
    calls = [
        call("hipLaunchKernel", 60 * MS + n * MS - 5 * US, 60 * MS + n * MS, n, pid=1, tid=1)
        for n in range(7)
    ]
    before = call("hipInit", 0, MS, pid=1, tid=1)
    step = marked("ProfilerStep#3", 20 * MS, 70 * MS, pid=1, tid=1)
    division = phases(trace(dispatches=rows, api_calls=[before, *calls], ranges=[step]))
    assert phase_line(division).startswith("before the first step 20.0 ms | work 50.0 ms")
