"""Phases: what is start-up, what repeats, and what is left of a recording that is cut to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from rocm_perf.analysis.overview import examine, overview
from rocm_perf.analysis.phases.build import phases
from rocm_perf.analysis.phases.focus import focused, within_ranges
from rocm_perf.errors import UsageError
from rocm_perf.model.results.phases import Phases
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, trace

US = 1_000
MS = 1_000_000


def launches(starts: Sequence[int], names: str = "a", *, first: int = 1, length: int = 10 * US) -> list[Row]:
    """A kernel for each start; names in turn, and lengths that differ by a nanosecond, as measured ones do."""
    return [
        kernel(
            names[place % len(names)],
            start + 5 * US,
            start + 5 * US + length - place % 2,
            correlation_id=first + place,
        )
        for place, start in enumerate(starts)
    ]


def calls(starts: Sequence[int], *, first: int = 1, name: str = "hipLaunchKernel") -> list[Row]:
    return [call(name, start, start + 3 * US, first + place) for place, start in enumerate(starts)]


def loop(steps: int, *, before_ms: int = 0, startup_ms: int = 0) -> Trace:
    """One odd kernel, a pause of `startup_ms`, then steps of three kernels 20 us apart."""
    begin = before_ms * MS
    odd = [begin]
    starts = [begin + 100 * US + startup_ms * MS + 20 * US * place for place in range(3 * steps)]
    return trace(
        dispatches=launches(odd, "x", first=9_000) + launches(starts, "abc"),
        api_calls=[
            call("hipInit", 0, US, 8_000),
            *calls(odd, first=9_000),
            *calls(starts),
        ],
    )


def named(division: Phases) -> dict[str, int]:
    return {row.name: row.duration_ns for row in division.rows}


def test_the_steps_of_a_loop_are_its_steady_state() -> None:
    """But the last one, whose end is not known: the recording ends with its last kernel, no new one begins."""
    division = phases(loop(20, before_ms=3, startup_ms=7))
    assert list(named(division)) == ["before", "start-up", "steady", "end"]
    assert division.steps == 19
    assert named(division)["steady"] == 19 * 60 * US
    assert division.step_ns.value == 60 * US
    assert named(division)["before"] == pytest.approx(3 * MS, rel=0.01)
    assert named(division)["start-up"] == pytest.approx(7.1 * MS, rel=0.01)


def test_phases_fill_the_recording() -> None:
    division = phases(loop(20, before_ms=3, startup_ms=7))
    ends = [(row.start_ns, row.end_ns) for row in division.rows]
    assert ends[0][0] == 0
    assert all(before[1] == after[0] for before, after in pairwise(ends))


@pytest.mark.parametrize("factor", [10, 100])
def test_the_verdict_does_not_change_when_start_up_gets_longer(factor: int) -> None:
    short, long = (examine(loop(20, before_ms=ms, startup_ms=ms), "x") for ms in (2, 2 * factor))
    assert short.wall_ns == long.wall_ns
    assert short.devices == long.devices
    judged = [
        [
            (finding.kind, finding.title, finding.time_at_stake_ns)
            for finding in document.findings
            if finding.kind != "startup"
        ]
        for document in (short, long)
    ]
    assert judged[0] == judged[1]


def test_start_up_says_what_the_gpu_and_the_host_did_in_it() -> None:
    """Kernels are of different lengths: else the times would be the profiler's."""
    starts = [70 * MS + 20 * US * place for place in range(60)]
    odd, short = launches([0], first=9_000), launches(starts[::2], "b")
    longer = launches(starts[1::2], "c", first=500, length=12 * US)
    made = [*calls([0], first=9_000), *calls(starts[::2]), *calls(starts[1::2], first=500)]
    document = examine(trace(dispatches=[*odd, *short, *longer], api_calls=made), "x")
    (told,) = [one for one in document.findings if one.kind == "startup"]
    assert told.evidence[0].startswith(
        "until the steps the GPU works 10.0 us of 70.0 ms, in 1 kernel, and for 70.0 ms"
    )
    assert not any("in all" in line for line in told.evidence)


def test_work_without_repetition_is_taken_whole() -> None:
    names = "abcdefgh"
    starts = [20 * US * place for place in range(len(names))]
    division = phases(trace(dispatches=launches(starts, names), api_calls=calls(starts)))
    assert list(named(division)) == ["work"]
    assert division.steps == 0
    assert "does not repeat" in division.found_by


def test_what_was_launched_before_the_recording_counts_for_nothing() -> None:
    tail = [kernel("old", 30 * US * place, 30 * US * place + 29 * US) for place in range(10)]
    names = "abcdefgh"
    starts = [400 * US + 20 * US * place for place in range(len(names))]
    recording = trace(dispatches=tail + launches(starts, names), api_calls=calls(starts))
    division = phases(recording)
    assert division.carried_over == 10
    assert {row.kernel for row in examine(recording, "x").hotspots.rows} == set(names)
    assert "old" in {row.kernel for row in overview(recording, "x").hotspots.rows}


def test_a_pause_that_does_not_recur_is_told_apart() -> None:
    names = "abcdefgh"
    starts = [20 * US * place + (50 * MS if place > 3 else 0) for place in range(len(names))]
    division = phases(trace(dispatches=launches(starts, names), api_calls=calls(starts)))
    assert [(pause.after, round(pause.duration_ns / MS)) for pause in division.pauses] == [("e", 50)]


def test_pauses_that_recur_are_idle_time() -> None:
    names = "abcdefghijkl"
    starts = [5 * MS * place for place in range(len(names))]
    division = phases(trace(dispatches=launches(starts, names), api_calls=calls(starts)))
    assert division.pauses == ()


def test_a_host_that_runs_ahead_is_judged_by_the_time_of_the_gpu() -> None:
    """Ten steps are launched within 1 ms, and take the GPU 10 ms."""
    starts = [10 * US * place for place in range(30)]
    kernels = [
        kernel(
            "abc"[place % 3],
            5 * US + 333 * US * place,
            5 * US + 333 * US * (place + 1),
            correlation_id=1 + place,
        )
        for place in range(30)
    ]
    marks = [
        {
            "name": f"step {place}",
            "source": "roctx",
            "start_ns": 30 * US * place,
            "end_ns": 30 * US * (place + 1),
        }
        for place in range(10)
    ]
    document = examine(trace(dispatches=kernels, api_calls=calls(starts), ranges=marks), "x")
    assert document.phases.steps == 10
    assert document.hotspots.dispatches == 30
    assert document.devices[0].busy.value == 1.0


def test_ranges_whose_names_differ_by_a_number_are_steps() -> None:
    starts = [20 * US * place for place in range(12)]
    marks = [
        {
            "name": f"batch[{32 - place}]",
            "source": "roctx",
            "start_ns": 60 * US * place,
            "end_ns": 60 * US * place + 59 * US,
        }
        for place in range(4)
    ]
    division = phases(trace(dispatches=launches(starts, "abc"), api_calls=calls(starts), ranges=marks))
    assert division.found_by == "ranges named 'batch[#]'"
    assert division.steps == 4


def test_layers_inside_a_graph_are_not_steps() -> None:
    """One replay of 24 equal layers: nothing repeats."""
    kernels = [
        kernel("ab"[place % 2], 5 * US * place + 9 * US, 5 * US * place + 13 * US, correlation_id=7)
        for place in range(48)
    ]
    division = phases(trace(dispatches=kernels, api_calls=[call("hipGraphLaunch", 0, 8 * US, 7)]))
    assert division.steps == 0


def test_replays_of_a_graph_are_steps() -> None:
    kernels = [
        kernel(
            "ab"[layer % 2],
            300 * US * replay + 5 * US * layer + 9 * US,
            300 * US * replay + 5 * US * layer + 13 * US,
            correlation_id=replay + 1,
        )
        for replay in range(6)
        for layer in range(48)
    ]
    graphs = [
        call("hipGraphLaunch", 300 * US * replay, 300 * US * replay + 8 * US, replay + 1)
        for replay in range(6)
    ]
    division = phases(trace(dispatches=kernels, api_calls=graphs))
    assert (division.steps, division.kernels_per_step.value) == (5, 48)  # after the last, none begins


def test_a_step_that_holds_something_else_divides_the_run() -> None:
    """Warm-up steps, a long pause inside the last of them, then the loop: the loop is judged."""
    warm = [60 * US * place for place in range(4)]
    steady = [500 * MS + 60 * US * place for place in range(40)]
    starts = [start + 20 * US * part for start in warm + steady for part in range(3)]
    division = phases(trace(dispatches=launches(starts, "abc"), api_calls=calls(starts)))
    assert division.steps == 39
    assert named(division)["steady"] == pytest.approx(39 * 60 * US, rel=0.02)


def test_two_runs_of_one_loop_are_steps_still() -> None:
    """A program that sets up once more between them: the longer run is judged, and neither happens once."""
    runs = [60 * US * place for place in range(18)], [500 * MS + 50 * US * place for place in range(20)]
    starts = [start + 15 * US * part for run in runs for start in run for part in range(3)]
    setup = [400 * MS + 10 * US * place for place in range(20)]
    division = phases(
        trace(
            dispatches=launches(starts, "abc") + launches(setup, "xyzwv", first=9_000),
            api_calls=[*calls(starts), *calls(setup, first=9_000)],
        )
    )
    assert division.steps == 19
    assert division.step_ns.value == 50 * US  # not that of all steps
    assert division.other_steps == 17  # the last one before the pause is cut off by it
    assert division.other_steps_ns == 17 * 60 * US


def test_a_recording_without_gpu_work_or_of_several_nodes_is_not_divided() -> None:
    assert phases(trace()).unavailable
    several = [kernel("a", 0, 9), {**kernel("a", 0, 9), "node": 1}]
    recording = trace(dispatches=several)
    assert "clocks" in (phases(recording).unavailable or "")
    assert focused(recording) is recording


def test_steps_of_a_pass_that_counts_have_no_length() -> None:
    recording = loop(20, before_ms=3, startup_ms=7)
    counters = trace(counters=[{"counter": "C", "value": 1.0, "pass_id": 0}]).table("counters")
    whole = Trace({**{name: recording.table(name) for name in recording}, "counters": counters})
    step_ns = phases(whole).step_ns
    assert step_ns.value is None
    assert "the profiler's" in (step_ns.unavailable or "")
    assert examine(whole, "x").judged_steps == 0


def test_a_cut_keeps_counters_and_what_is_not_timed() -> None:
    recording = loop(20, before_ms=3, startup_ms=7)
    counters = [{"counter": "C", "value": 1.0, "pass_id": 1}]
    whole = Trace(
        {
            **{name: recording.table(name) for name in recording},
            "counters": trace(counters=counters).table("counters"),
        }
    )
    assert focused(whole).rows("counters") == 1
    assert focused(whole).rows("dispatches") == 57


def test_what_happens_between_ranges_of_a_name() -> None:
    starts = [20 * US * place for place in range(12)]
    marks = [{"name": "inference", "source": "roctx", "start_ns": 60 * US, "end_ns": 180 * US}]
    recording = trace(dispatches=launches(starts, "abcdefghijkl"), api_calls=calls(starts), ranges=marks)
    assert set(within_ranges(recording, "inference").table("dispatches")["kernel"]) == set("defghi")
    with pytest.raises(UsageError, match="no range is named 'inferense'"):
        within_ranges(recording, "inferense")


def test_a_pause_between_marked_steps_divides_their_run() -> None:
    """Ranges that the program or a library marks do not touch: what lies between two of them is in neither."""
    begun = [60 * US * place for place in range(5)] + [300 * MS + 60 * US * place for place in range(9)]
    starts = [start + 15 * US * part for start in begun for part in range(3)]
    marks = [
        {"name": "sort", "source": "roctx", "start_ns": start, "end_ns": start + 50 * US} for start in begun
    ]
    division = phases(trace(dispatches=launches(starts, "abc"), api_calls=calls(starts), ranges=marks))
    assert division.found_by == "ranges named 'sort'"
    assert (division.steps, division.other_steps) == (8, 5)
    assert division.step_ns.value == 60 * US  # not the 50 us of a range
    assert named(division)["steady"] == 8 * 60 * US
