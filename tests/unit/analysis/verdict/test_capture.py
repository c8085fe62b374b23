"""Recordings of the capture of graphs, whose launches run nothing."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.trust.lost import captures, single_losses
from rocm_perf.analysis.verdict.capture import only_captured
from rocm_perf.analysis.verdict.doubts import doubts
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.traces import Row, call, kernel, trace

MS, US = NS_PER_MS, NS_PER_US


def launch(at: int, correlation: int) -> Row:
    return call("hipLaunchKernel", at, at + 5 * US, correlation)


def captured(*, begins: bool = True, ends: bool = True, replays: int = 0, after: int = 0) -> Trace:
    """Two launches that run, forty that a graph captures, its replays, and single launches that run."""
    calls = [launch(at * MS, at) for at in (1, 2)]
    calls += [launch(at * MS, at) for at in range(10, 50)]
    calls += [call("hipStreamBeginCapture", 9 * MS, 9 * MS + US, 9)] if begins else []
    calls += [call("hipStreamEndCapture", 50 * MS, 50 * MS + US, 50)] if ends else []
    calls += [call("hipGraphLaunch", (60 + n) * MS, (60 + n) * MS + US, 60 + n) for n in range(replays)]
    calls += [launch((200 + n) * MS, 200 + n) for n in range(after)]
    work = [kernel("k", at * MS, at * MS + 9 * US, correlation_id=at) for at in (1, 2)]
    work += [
        kernel("k", (60 + n) * MS + of * US, (60 + n) * MS + (of + 1) * US, correlation_id=60 + n)
        for n in range(replays)
        for of in range(40)
    ]
    work += [kernel("k", (200 + n) * MS, (201 + n) * MS, correlation_id=200 + n) for n in range(after)]
    return trace(dispatches=work, api_calls=sorted(calls, key=lambda row: str(row["start_ns"]).zfill(20)))


def test_a_capture_is_said_to_be_one_and_nothing_else_is_concluded() -> None:
    found = examine(captured(), "x").findings
    assert (found[0].id, found[0].kind) == ("graph-capture", "startup")
    assert found[0].title == "The capture of 1 graph: 40 of 42 launches were recorded into it and ran nothing"
    assert "beside that ran 2 kernels, 18.0 us in all" in found[0].evidence
    assert not [one for one in found if one.kind in ("host-bound", "sync", "unrecorded-work")]
    assert found[0].time_at_stake_ns is None


@pytest.mark.parametrize(("begins", "ends"), [(False, True), (True, False)])
def test_a_recording_that_begins_or_ends_within_a_capture_holds_a_part_of_it(
    begins: bool, ends: bool
) -> None:
    cut = captured(begins=begins, ends=ends)
    found = captures(cut)
    assert found is not None
    assert (found.graphs, found.launches, found.replays) == (1, 40, 0)
    assert single_losses(cut).lost == 0
    assert only_captured(cut) is not None


def test_a_capture_without_any_kernel_is_no_recording_of_the_host_alone() -> None:
    calls = captured().table("api_calls").to_dicts()
    assert [one.id for one in doubts(trace(api_calls=calls))] == ["graph-capture"]


@pytest.mark.parametrize("more", [{"replays": 12}, {"after": 60}, {"after": 45}])
def test_a_program_that_captures_and_then_works_is_judged_by_its_work(more: dict[str, int]) -> None:
    assert only_captured(captured(replays=more.get("replays", 0), after=more.get("after", 0))) is None


def test_launches_outside_of_captures_that_left_nothing_are_lost() -> None:
    calls = [launch(at * MS, at) for at in range(10)]
    lost = trace(dispatches=[kernel("k", 20 * MS, 21 * MS, correlation_id=9)], api_calls=calls)
    assert captures(lost) is None
    assert only_captured(lost) is None
