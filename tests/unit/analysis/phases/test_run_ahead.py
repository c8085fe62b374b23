"""Steps of a host that runs ahead, recorded from the middle of one; and waits for work that was not recorded."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.basis.carried import carried_over
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.phases.focus import focused
from rocm_perf.analysis.time.steps import steps as steps_of
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

MS = 1_000_000
STEP = 100 * MS
TAIL = 60 * MS  # of the step before the recording


def ahead(steps: int, *, recorded_ms: int = 60) -> Trace:
    """Every step launches a kernel of a side stream, which runs at once, and ten of a stream that is 60 ms behind."""
    tail = [
        kernel("work", at * MS, at * MS + 9 * MS, correlation_id=900 + at) for at in range(0, recorded_ms, 10)
    ]
    work: list[Row] = list(tail)
    calls: list[Row] = []
    for step in range(steps):
        base, first = step * STEP, 20 * step + 1
        calls += [
            call("hipLaunchKernel", base + MS * at, base + MS * at + 100, first + at) for at in range(11)
        ]
        work.append(kernel("fetch", base + MS // 10, base + MS, correlation_id=first, stream_id=1))
        work += [
            kernel(
                "work",
                base + TAIL + 10 * MS * at,
                base + TAIL + 10 * MS * at + 9 * MS,
                correlation_id=first + at + 1,
            )
            for at in range(10)
        ]
    ranges = [marked(f"ProfilerStep#{step}", step * STEP, step * STEP + 99 * MS) for step in range(steps)]
    return trace(dispatches=work, api_calls=calls, ranges=ranges)


def test_a_stream_that_copies_ahead_does_not_hide_what_another_carried_over() -> None:
    work = launched_work(ahead(5))
    assert carried_over(work).sum() == 6
    assert set(work.filter(carried_over(work))["name"].cast(str)) == {"work"}


def test_the_steps_of_the_gpu_begin_where_the_carried_work_ends() -> None:
    division = phases(ahead(6))
    assert (
        division.steps == 5
    )  # of the last, the kernel of the side stream that belongs to the next is not here
    assert division.step_ns.value == pytest.approx(STEP, rel=0.02)
    assert division.kernels_per_step.value == 11
    assert [row.name for row in division.rows] == ["before", "steady", "end"]


def test_what_is_judged_is_as_long_as_its_steps() -> None:
    document = examine(ahead(6), "x")
    assert document.judged_ns / document.judged_steps == pytest.approx(STEP, rel=0.02)


def test_counts_of_a_step_are_those_of_whole_steps() -> None:
    base, new = ([Recording(name, ahead(count))] for name, count in (("base", 6), ("new", 8)))
    kernels = compare(base, new).kernels
    assert {change.kernel: (change.calls.base, change.calls.new) for change in kernels} == {
        "work": (10, 10),
        "fetch": (1, 1),
    }


def waiting(before_ms: int, *, steps: bool = False) -> Trace:
    """Work, then 50 ms in which what was launched waits with nothing before it, then 40 ms of work."""
    starts = [*range(0, before_ms, 2), *range(before_ms + 50, before_ms + 90, 2)]
    kernels = [
        kernel(f"k{at}", at * MS + 100, at * MS + 2 * MS, correlation_id=1 + place)
        for place, at in enumerate(starts)
    ]
    calls = [
        call("hipLaunchKernel", min(at, before_ms) * MS, min(at, before_ms) * MS + 50, 1 + place)
        for place, at in enumerate(starts)
    ]
    ranges = [marked(f"ProfilerStep#{place}", at * MS, at * MS + 60 * MS) for place, at in enumerate((0, 60))]
    if not steps:
        return trace(dispatches=kernels, api_calls=calls)
    return trace(dispatches=kernels, api_calls=calls, ranges=ranges)


def test_a_wait_with_next_to_nothing_before_it_is_not_called_start_up() -> None:
    division = phases(waiting(2))
    assert [row.name for row in division.rows] == ["before", "work"]
    assert division.waited
    assert division.rows[0].duration_ns == pytest.approx(52 * MS, rel=0.01)


@pytest.mark.parametrize(("before_ms", "steps"), [(20, False), (2, True)])
def test_a_wait_behind_work_or_within_a_marked_step_is_part_of_the_work(before_ms: int, steps: bool) -> None:
    division = phases(waiting(before_ms, steps=steps))
    assert "start-up" not in [row.name for row in division.rows]
    assert division.judged is not None
    assert division.judged.duration_ns == pytest.approx((before_ms + 90) * MS, rel=0.01)
    assert not division.waited


def side_by_side(steps: int) -> Trace:
    """Steps of ten kernels, each on the next of three streams as soon as that is free: three run at a time, and those
    of the first stream begin first."""
    work: list[Row] = []
    calls: list[Row] = []
    for number in range(steps):
        turn, stream = divmod(number, 3)
        for place in range(10):
            at, correlation = 3 * STEP * turn + 30 * MS * place + MS * stream, 10 * number + place + 1
            calls.append(call("hipLaunchKernel", 100 * correlation, 100 * correlation + 50, correlation))
            work.append(kernel("work", at + MS, at + 29 * MS, correlation_id=correlation, stream_id=stream))
        done = 1_000 * number + 1_060
        calls.append(call("hipMemcpyAsync", done, done + 30, -number - 1))
    copies = [
        {
            "kind": "D2H",
            "start_ns": 3 * STEP * (number // 3 + 1) + MS * (number % 3),
            "end_ns": 3 * STEP * (number // 3 + 1) + MS * (number % 3) + MS // 2,
            "correlation_id": -number - 1,
            "stream_id": number % 3,
        }
        for number in range(steps)
    ]
    return trace(dispatches=work, api_calls=calls, copies=copies)


def test_steps_that_run_side_by_side_have_no_length_of_their_own() -> None:
    """The first of three seems to take nearly all of their time, the others next to none."""
    division = phases(side_by_side(30))
    assert division.steps in (29, 30)
    assert division.step_ns.value == pytest.approx(STEP, rel=0.1)  # of the last step no end is known
    assert "overlap on several streams" in division.step_ns.formula
    assert division.step_spread is None
    assert len(steps_of(focused(side_by_side(30))).steps) in (29, 30)
