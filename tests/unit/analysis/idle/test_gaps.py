"""Idle time and its causes: against the simulator, which knows them, and against traces made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.idle.gaps import gaps
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.ingest.load import load
from rocm_perf.model.results.gaps import Gaps
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import kineto, rocpd, rocprofv3, rocprofv3_json
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.record import agent_of, record
from rocm_perf.sim.steps import Step, Workload
from rocm_perf.sim.timeline import Run
from rocm_perf.sim.truth import gap_causes
from tests.sim.strategies import workloads
from tests.unit.analysis.traces import call, kernel, marked, trace
from tests.unit.sim.runs import MI300X, run_steps

LATENCY_NS = MI300X.cost_ns("launch_latency")
RANGE_NS = MI300X.cost_ns(
    "range_call"
)  # what pushing or popping a range takes on the simulated host; no profiler records it as a call
LOOP = '{repeat = 6, steps = [{launch = "big"}, {sync = "stream"}, {cpu = "x", us = 5}]}, {launch = "small"}'


def true_causes(run: Run, rank: int) -> Counter[str]:
    """Of the gaps between first and last work: what comes before and after is no gap to a recording."""
    measured = gap_causes(run, rank)
    starts = [item.start for item in run.items if item.kind != "marker" and item.stream.device.rank == rank]
    totals: Counter[str] = Counter()
    for gap in measured:
        if starts and min(starts) < gap.end and "tail" not in gap.causes:
            totals.update(gap.causes)
    return totals


def causes_of(result: Gaps, agent: int | None = None, level: str = "gpu") -> Counter[str]:
    totals: Counter[str] = Counter()
    for place in result.places:
        if place.level == level and (agent is None or place.agent_id == agent):
            totals.update(place.causes)
    return totals


def alike(causes: Counter[str]) -> Counter[str]:
    """`framework` is host time in a process whose operators are recorded; the simulator calls both host_busy."""
    merged = Counter(causes)
    merged["host_busy"] += merged.pop("framework", 0)
    return +merged


@pytest.mark.parametrize(
    "steps",
    [
        LOOP,
        '{launch = "small"}, {cpu = "x", us = 50}, {launch = "big"}',
        '{launch = "small"}, {alloc = "x", bytes = 1}, {launch = "big"}',
        '{launch = "big"}, {launch = "big"}, {launch = "small"}, {launch = "small"}',
        '{copy = "D2H", bytes = 1, blocking = true}, {copy = "D2H", bytes = 1}, {launch = "big"}',
        '{launch = "big"}, {free = "x", bytes = 1}, {launch = "big"}',
        '{launch = "small", stream = "s"}, {record = "e", stream = "s"}, {wait = "e"}, {launch = "big"}, {sync = "e"}, '
        '{launch = "small"}',
    ],
)
def test_causes_are_the_true_ones(steps: str) -> None:
    run = run_steps(steps)
    assert alike(causes_of(gaps(record(run)))) == true_causes(run, 0)


def warmed_up(workload: Workload) -> Workload:
    """Every thread first launches a kernel and each graph into an idle GPU: that shows what a launch takes."""
    wait = Step("sync", "device")
    first = [Step("launch", "k0"), wait]
    for graph in workload.graphs:
        first += [Step("graph", graph), wait]
    threads = [replace(thread, steps=(*first, *thread.steps)) for thread in workload.threads]
    return replace(workload, threads=tuple(threads))


@given(workloads(max_threads=1).map(warmed_up))
def test_causes_of_random_workloads(workload: Workload) -> None:
    """Exact, but for what no recording shows: what ranges cost the host, whether a call that frees memory while the
    GPU works had to wait for it, and whether a collective that was never launched into an idle GPU came late."""
    run = simulate(workload, MI300X)
    result = gaps(record(run))
    ranges = 2 * RANGE_NS * len(run.ranges)
    frees = sum(call.end - call.start for call in run.calls if call.name == "hipFree")
    latency = LATENCY_NS * sum(item.kind == "collective" for item in run.items)
    slack = {
        "host_busy": ranges,
        "host_api": ranges + frees,
        "host_sync": frees,
        "launch_latency": latency,
        "queue_gap": latency,
    }
    for rank in workload.ranks:
        measured, true = alike(causes_of(result, agent_of(rank))), true_causes(run, rank)
        assert measured.total() == true.total()
        for cause in {*measured, *true}:
            assert abs(measured[cause] - true[cause]) <= slack.get(cause, 0), cause


@given(workloads())
def test_causes_sum_to_the_idle_time(workload: Workload) -> None:
    recording = record(simulate(workload, MI300X))
    result = gaps(recording)
    idle = {device.agent_id: device.idle_ns for device in device_times(recording)}
    for place in result.places:
        assert sum(place.causes.values()) == place.idle_ns
        assert all(part > 0 for part in place.causes.values())
        if place.level == "gpu":
            assert place.idle_ns == idle[place.agent_id]
    assert result.idle_ns == sum(idle.values())
    assert sum(row.total_ns for row in result.causes) == result.idle_ns
    assert sum(row.total_ns for row in result.histogram) == result.idle_ns
    assert sum(row.gaps for row in result.histogram) == result.gaps
    named = Counter({"host_sync": 0, "host_api": 0})
    for row in result.calls:
        named[row.cause] += row.total_ns
    totals = {row.cause: row.total_ns for row in result.causes}
    assert all(named[cause] == totals.get(cause, 0) for cause in ("host_sync", "host_api"))
    for gap in result.worst:
        assert sum(gap.causes.values()) == gap.duration_ns


WRITERS: dict[str, Callable[[Trace, Path], object]] = {
    "run.db": rocpd.write,
    "csv": lambda recording, path: rocprofv3.write_csv(recording, path, "run"),
    "run_results.json": rocprofv3_json.write,
    "run.pt.trace.json": kineto.write,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_of_a_run_gives_the_same_gaps(name: str, tmp_path: Path) -> None:
    before = '{copy = "H2D", bytes = 5000, stream = "s"}, {record = "e", stream = "s"}, {wait = "e"}, '
    after = ', {alloc = "a", bytes = 9}, {launch = "big"}'
    recording = record(run_steps(before + '{launch = "small"}, ' + LOOP + after))
    WRITERS[name](recording, tmp_path / name)
    there, here = gaps(recording), gaps(load(tmp_path / name))
    for level in ("gpu", "stream"):
        assert alike(causes_of(here, level=level)) == alike(causes_of(there, level=level))
    assert here.histogram == there.histogram
    assert here.calls == there.calls
    assert here.sync_between == there.sync_between
    assert [(gap.before, gap.after, gap.duration_ns, gap.calls) for gap in here.worst] == [
        (gap.before, gap.after, gap.duration_ns, gap.calls) for gap in there.worst
    ]


def test_a_gap_knows_its_neighbours_and_calls() -> None:
    recording = trace(
        dispatches=[
            kernel("a", 10, 20, correlation_id=1),
            kernel("b", 90, 95, correlation_id=2),
            kernel("c", 95, 99, correlation_id=3),
        ],
        api_calls=[
            call("hipLaunchKernel", -15, -10, 1),
            call("hipModuleLoad", 25, 60),
            call("hsa_memory_allocate", 30, 50, domain="hsa"),
            call("hipLaunchKernel", 62, 70, 2),
            call("hipLaunchKernel", 71, 75, 3),
        ],
    )
    result = gaps(recording)
    (gap,) = result.worst
    assert (gap.before, gap.after, gap.start_ns, gap.end_ns, gap.cause) == ("a", "b", 20, 90, "host_api")
    assert gap.calls == ("hipModuleLoad", "hipLaunchKernel")
    assert gap.causes == {"host_api": 35 + 8, "launch_latency": 20, "host_busy": 5 + 2}
    assert {row.call: row.total_ns for row in result.calls} == {"hipModuleLoad": 35, "hipLaunchKernel": 8}


def test_operators_make_host_time_framework_time() -> None:
    recording = trace(
        dispatches=[kernel("a", 0, 10, correlation_id=1), kernel("b", 50, 60, correlation_id=2)],
        api_calls=[call("hipLaunchKernel", -9, -6, 1), call("hipLaunchKernel", 40, 44, 2)],
        ops=[{"name": "aten::add", "category": "operator", "start_ns": 20, "end_ns": 45}],
    )
    assert causes_of(gaps(recording)) == {"framework": 30, "host_api": 4, "launch_latency": 6}


def test_a_stream_that_waits_for_another() -> None:
    """The GPU is never idle, its second stream is: for a copy, then for a kernel, after a recorded wait."""
    recording = trace(
        dispatches=[
            kernel("early", 0, 10, correlation_id=1, stream_id=1),
            kernel("other", 30, 60, correlation_id=3, stream_id=2),
            kernel("late", 60, 70, correlation_id=5, stream_id=1),
        ],
        copies=[
            {"kind": "H2D", "start_ns": 5, "end_ns": 30, "agent_id": 0, "stream_id": 2, "correlation_id": 2}
        ],
        api_calls=[
            call("hipLaunchKernel", -10, -9, 1),
            call("hipMemcpyAsync", -8, -7, 2),
            call("hipLaunchKernel", -6, -5, 3),
            call("hipStreamWaitEvent", -4, -3, 4),
            call("hipLaunchKernel", -2, -1, 5),
        ],
    )
    result = gaps(recording)
    assert result.idle_ns == 0
    assert causes_of(result, level="stream") == {"copy": 20, "event": 30}


def test_a_long_wait_for_an_event_that_nothing_recorded_explains() -> None:
    recording = trace(
        dispatches=[kernel("a", 6, 10, correlation_id=1), kernel("b", 900, 960, correlation_id=3)],
        api_calls=[
            call("hipLaunchKernel", 0, 2, 1),
            call("hipStreamWaitEvent", 12, 13, 2),
            call("hipLaunchKernel", 14, 16, 3),
        ],
    )
    assert causes_of(gaps(recording)) == {"host_busy": 3, "host_api": 3, "launch_latency": 12, "event": 872}


def test_one_instant_of_work_on_any_queue_is_not_idle() -> None:
    recording = trace(
        dispatches=[
            kernel("a", 0, 10, queue_id=1),
            kernel("b", 5, 30, queue_id=2),
            kernel("c", 40, 50, queue_id=1),
        ]
    )
    result = gaps(recording)
    assert result.idle_ns == 10
    assert {place.queue_id: place.idle_ns for place in result.places if place.level == "queue"} == {
        1: 30,
        2: 0,
    }
    assert result.not_attributed == "no host calls were recorded"
    assert [row.cause for row in result.causes] == ["nothing_recorded"]
    assert not result.sync_between.known


def test_why_a_gap_has_no_cause() -> None:
    calls = [call("hipLaunchKernel", 0, 1, 1)]
    apart = trace(dispatches=[kernel("a", 0, 1), kernel("a", 5, 6)], api_calls=calls)
    assert gaps(apart).not_attributed == "the recording does not say which call launched what"
    lost = trace(
        dispatches=[kernel("a", 0, 1, correlation_id=7), kernel("a", 5, 6, correlation_id=8)], api_calls=calls
    )
    assert "1 of 1 gaps" in (gaps(lost).not_attributed or "")
    assert (
        gaps(trace(api_calls=calls)).unavailable == "the recording holds no kernels and no copies with times"
    )


def test_syncs_between_launches_are_counted() -> None:
    assert gaps(record(run_steps(LOOP))).sync_between.value == 1
    apart = run_steps(
        '{launch = "big"}, {cpu = "x", us = 40}, {launch = "big"}, {sync = "device"}, {launch = "big"}'
    )
    assert gaps(record(apart)).sync_between.value == 0.5


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=30))
def test_every_gap_is_in_its_bin(lengths: list[int]) -> None:
    time, kernels = 0, [kernel("k", -1, 0)]
    for length in lengths:
        kernels.append(kernel("k", time + length, time + length + 1))
        time += length + 1
    result = gaps(trace(dispatches=kernels))
    for row in result.histogram:
        assert row.gaps == sum(row.from_ns <= length < row.to_ns for length in lengths)
    assert result.longest_ns == max(lengths)


def test_what_the_host_loads_is_told_apart_from_the_framework() -> None:
    recording = trace(
        dispatches=[kernel("a", 0, 10, correlation_id=1), kernel("b", 50, 60, correlation_id=2)],
        api_calls=[
            call("hipLaunchKernel", -9, -6, 1),
            call("hipMalloc", 15, 18),
            call("hipLaunchKernel", 40, 44, 2),
        ],
        ops=[{"name": "aten::stack", "category": "operator", "start_ns": 20, "end_ns": 25}],
        ranges=[marked("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 12, 30)],
    )
    parts = {"loading": 15, "framework": 12, "host_api": 3 + 4, "launch_latency": 6}
    assert causes_of(gaps(recording)) == parts
