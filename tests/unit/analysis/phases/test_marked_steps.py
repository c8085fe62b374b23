"""Recordings of one or two steps that torch's profiler marked: what the host does in them recurs."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.phases.build import phases
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.traces import call, kernel, marked, trace

MS, US = NS_PER_MS, NS_PER_US


def one_step(
    name: str = "ProfilerStep#6", *, loading_ms: int = 40, pause_ms: int = 0, slow: str = ""
) -> Trace:
    """A step that loads its input, then launches forty kernels one by one; half-way it pauses, in a slow call if one is
    named."""
    starts = [MS + loading_ms * MS + 100 * US * n + (pause_ms * MS if n >= 20 else 0) for n in range(40)]
    kernels = [
        kernel(f"k{n % 7}{n % 3}", at + 9 * US, at + 99 * US - n, correlation_id=n)
        for n, at in enumerate(starts)
    ]
    calls = [call("hipLaunchKernel", at, at + 5 * US, n) for n, at in enumerate(starts)]
    if slow:
        calls.append(call(slow, starts[20] - pause_ms * MS, starts[20] - 9 * US))
    ranges = [marked(name, MS, starts[-1] + 2 * MS)]
    if loading_ms:
        ranges.append(marked("enumerate(DataLoader)#next", MS + US, MS + loading_ms * MS - US))
    return trace(dispatches=kernels, api_calls=calls, ranges=ranges)


def judged_ms(recording: Trace) -> float:
    (row,) = [row for row in phases(recording).rows if row.name == "work"]
    return row.duration_ns / MS


def said(recording: Trace) -> Document:
    return examine(recording, "x")


def test_what_comes_before_the_first_kernel_of_a_marked_step_is_idle_time_of_it() -> None:
    document = said(one_step())
    assert judged_ms(one_step()) == pytest.approx(45.9)
    assert document.findings[0].title == "The GPU waits for the data loader"
    assert document.findings[0].time_at_stake_ns == pytest.approx(40 * MS, rel=0.02)
    assert "startup" not in {finding.id for finding in document.findings}
    assert document.gaps.idle_ns == sum(device.idle_ns for device in document.devices)
    assert document.gaps.worst[0].before == "beginning of the step"


def test_the_first_step_of_a_program_sets_things_up() -> None:
    assert judged_ms(one_step("ProfilerStep#0")) == pytest.approx(4, rel=0.01)
    assert "startup" in {finding.id for finding in said(one_step("ProfilerStep#0")).findings}


def test_a_pause_in_a_marked_step_recurs_with_it() -> None:
    assert phases(one_step(loading_ms=0, pause_ms=30)).pauses == ()


def test_a_first_use_in_a_marked_step_happens_once_all_the_same() -> None:
    (pause,) = phases(one_step(loading_ms=0, pause_ms=30, slow="hipModuleLoadData")).pauses
    assert pause.duration_ns == pytest.approx(30 * MS, rel=0.01)
