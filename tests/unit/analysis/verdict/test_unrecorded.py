"""What is said where the GPU worked on something that the recording does not hold, or where events were taken out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers
from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.doubts import doubts
from rocm_perf.model.finding import Finding
from rocm_perf.model.run import Numbering
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, trace

MS = 1_000_000


def first(recording: Trace) -> Finding:
    return doubts(recording)[0]


def recurring(launcher: str, *, times: int = 5) -> Trace:
    """A kernel of 20 ms, then a fill that waits 40 ms more behind nothing that was recorded, again and again."""
    starts = [100 * MS * place for place in range(times)]
    kernels = [
        kernel("work", at + MS, at + 21 * MS, correlation_id=2 * place) for place, at in enumerate(starts)
    ]
    fills = [
        {"kind": "MEMSET", "start_ns": at + 61 * MS, "end_ns": at + 62 * MS, "agent_id": 0, "stream_id": 0}
        | {"correlation_id": 2 * place + 1}
        for place, at in enumerate(starts)
    ]
    calls = [
        call(name, at + shift, at + shift + MS // 2, 2 * place + shift // MS)
        for place, at in enumerate(starts)
        for name, shift in (("hipLaunchKernel", 0), (launcher, MS))
    ]
    return trace(dispatches=kernels, copies=fills, api_calls=calls)


def test_a_wait_is_told_apart_from_the_time_since_the_launch() -> None:
    evidence = " ".join(first(recurring("hipMemsetAsync")).evidence)
    assert (
        "a fill waited 40.0 ms with nothing recorded before it, launched 59.5 ms before it began" in evidence
    )
    assert "copy MEMSET" not in evidence


def test_waits_that_recur_are_not_mended_by_beginning_earlier() -> None:
    finding = first(recurring("hipMemsetAsync"))
    assert "steps earlier" not in finding.remedy
    assert "again and again" in finding.remedy
    assert "5 times" in finding.evidence[0]


def test_waits_before_work_of_a_graph_are_the_graphs() -> None:
    finding = first(recurring("hipGraphLaunch"))
    assert "the graph ran work that was not recorded" in finding.remedy
    assert "hipGraphLaunch" in finding.evidence[0]


def test_waits_that_do_not_recur_may_be_from_before_the_recording() -> None:
    assert "steps earlier" in first(recurring("hipMemsetAsync", times=2)).remedy


def thinned(followed: int) -> Trace:
    """A recording with waits whose events are a tenth of those that were numbered."""
    recording = recurring("hipMemsetAsync")
    numbers = Numbering(counter="Ev Idx", recorded=1000, numbered=10_000, followed=followed)
    return recording.described(replace(recording.run, numbering=numbers))


def test_a_thinned_recording_does_not_tell_idle_time() -> None:
    assert [finding.id for finding in doubts(thinned(300))] == ["events-missing"]
    assert idle_is_the_profilers(thinned(300)) is not None
    assert examine(thinned(300), "x").gaps.doubt
    assert "90.0 %" in first(thinned(300)).title


@pytest.mark.parametrize("followed", [990, 999])
def test_a_recording_cut_out_of_a_longer_one_is_not_thinned(followed: int) -> None:
    assert "events-missing" not in [finding.id for finding in doubts(thinned(followed))]
