"""The path against the simulator's truth, and what must hold of any path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from rocm_perf.analysis.graph import build, retimed_wall_ns
from rocm_perf.analysis.path.changes import FasterKernels
from rocm_perf.analysis.path.critical_path import critical_path, path_links
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.ingest.load import load
from rocm_perf.model.results.path import CriticalPath
from rocm_perf.model.trace import Trace
from rocm_perf.sim import truth
from rocm_perf.sim.engine import Run, simulate
from rocm_perf.sim.record import record
from rocm_perf.sim.steps import Workload
from rocm_perf.sim.workload import read_workload
from tests.golden.test_specimens import GOLDEN
from tests.recordings import recording
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads
from tests.unit.analysis.traces import kernel, trace
from tests.unit.sim.runs import MI300X, run_steps, thread

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = sorted((ROOT / "examples" / "workloads").glob("*.toml"))

# The truth tells host work from range calls; the path tells what an item of another stream waited for.
SAME = {"cpu": "host", "range": "host", "event_wait": "queue_gap", "room_wait": "queue_gap"}


def folded(by_kind: Mapping[str, int]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for kind, duration in by_kind.items():
        totals[SAME.get(kind, kind)] += duration
    return totals


def assert_true(run: Run) -> CriticalPath:
    path, true = critical_path(build(record(run))), truth.critical_path(run)
    assert path.total_ns == path.wall_ns == run.wall_ns
    assert folded(path.by_kind) == folded(true.by_kind)
    on_path = {row.kernel: row.path_ns for row in path.by_kernel if row.path_ns}
    assert {name: time for name, time in on_path.items() if name in true.by_kernel} == true.by_kernel
    others = sum(time for name, time in on_path.items() if name not in true.by_kernel)
    assert others == true.by_kind.get("collective", 0)
    return path


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_the_examples(file: Path, noise: float) -> None:
    workload = replace(read_workload(file), noise=noise)
    run = simulate(workload, MI300X)
    if not noise:
        assert_true(run)
        return
    path, true = critical_path(build(record(run))), truth.critical_path(run)
    for row in path.by_kernel:
        expected = true.by_kernel[row.kernel] or true.by_kind["collective"]  # which the truth does not name
        assert abs(row.path_ns - expected) <= 0.02 * run.wall_ns


LOOP = "{{repeat = 5, steps = [{}]}}"


@pytest.mark.parametrize(
    "steps",
    [
        '{launch = "big"}, {sync = "stream"}',
        '{launch = "small"}, {cpu = "x", us = 10}, {free = "x", bytes = 1}, {free = "x", bytes = 1}',
        '{launch = "small", stream = "s"}, {launch = "big"}, {sync = "device"}',
        '{launch = "small", stream = "s"}, {record = "e", stream = "s"}, {wait = "e"}, {launch = "big"}',
        '{launch = "big"}, {launch = "big", stream = "s"}, {sync = "device"}',
        LOOP.format('{launch = "small"}, {launch = "small"}, {cpu = "x", us = 3}'),
        LOOP.format('{launch = "big"}, {copy = "D2H", bytes = 100000, pinned = false}'),
        LOOP.format('{cpu = "x", us = 70}, {launch = "big"}, {sync = "device"}'),
        LOOP.format('{launch = "big"}, {launch = "small", stream = "s"}, {sync = "stream", stream = "s"}'),
        '{cpu = "a", us = 3}, {push = "r"}, {launch = "small"}, {cpu = "b", us = 90}, {pop = true}',
    ],
)
def test_small_programs(steps: str) -> None:
    assert_true(run_steps(steps))


def test_the_path_goes_through_the_late_rank() -> None:
    steps = '{{cpu = "load", us = {}}}, {{collective = "all_reduce", bytes = 50000}}, {{sync = "device"}}'
    path = assert_true(run_steps(thread(steps.format(10), 0), thread(steps.format(500), 1)))
    assert path.by_kind["host"] == 500_000


def test_kernels_off_the_path_have_slack_and_no_impact() -> None:
    run = run_steps('{launch = "small", stream = "s"}, {launch = "big"}, {sync = "device"}')
    path = critical_path(build(record(run)))
    on, off = path.by_kernel
    assert (on.kernel, on.slack_min_ns, on.impact_basis) == ("big", 0, "re-timed")
    assert on.impact_ns == pytest.approx(on.path_ns / 10, abs=1)
    assert on.critical_path_score == pytest.approx(on.path_ns / path.wall_ns)
    assert (off.kernel, off.path_ns, off.impact_ns, off.impact_basis) == ("small", 0, 0, "off the path")
    assert (
        off.slack_min_ns == off.slack_median_ns == 3000 + on.path_ns - 10000
    )  # the later start, the longer run


def test_impact_ends_where_another_path_takes_over() -> None:
    steps = '{launch = "big", stream = "s"}, {launch = "big"}, {launch = "small"}, {sync = "device"}'
    graph = build(record(run_steps(steps)))
    row = next(row for row in critical_path(graph).by_kernel if row.kernel == "small")
    assert row.impact_ns == graph.wall_ns - whatif(graph, FasterKernels("small", 1 / 0.9)).wall_ns == 1000


def test_a_loop_is_told_as_a_pattern() -> None:
    run = run_steps('{repeat = 40, steps = [{launch = "big"}, {sync = "stream"}]}')
    path = critical_path(build(record(run)))
    assert path.pattern is not None
    assert [link.kind for link in path.pattern.links] == ["api", "launch_latency", "kernel", "sync_return"]
    assert path.pattern.repeats == 40
    assert path.pattern.total_ns == path.wall_ns


def test_without_repetition_there_is_no_pattern() -> None:
    assert critical_path(build(trace(dispatches=[kernel("a", 0, 5), kernel("b", 7, 9)]))).pattern is None


def test_kernels_alone_make_a_path_of_kernels_and_gaps() -> None:
    path = critical_path(build(trace(dispatches=[kernel("a", 10, 50), kernel("b", 80, 90)])))
    assert path.by_kind == {"kernel": 50, "queue_gap": 30}
    assert path.missing == ("no API calls: launches and waits of the host are not seen",)


def test_edges_say_how_they_are_known() -> None:
    path = critical_path(build(record(run_steps('{launch = "big"}, {sync = "device"}'))))
    known = {edge.kind: (edge.known.partition(":")[0], edge.count, edge.binding) for edge in path.edges}
    assert known["launch"] == ("recorded", 1, 1)
    assert known["sync"] == ("inferred", 1, 1)
    assert path.nodes == {"api": 2, "kernel": 1, "return": 1}


def test_a_path_is_json_and_back() -> None:
    path = critical_path(build(record(run_steps('{launch = "big"}, {sync = "device"}'))))
    assert msgspec.json.decode(msgspec.json.encode(path), type=CriticalPath) == path


def test_nothing_recorded_has_a_path_of_nothing() -> None:
    path = critical_path(build(Trace({})))
    assert (path.total_ns, path.by_kind, path.by_kernel, path.longest) == (0, {}, (), ())


@given(workloads())
def test_links_tile_the_wall(workload: Workload) -> None:
    made = recorded(workload)
    links = path_links(build(made))
    starts, durations = links["start_ns"].to_list(), links["duration_ns"].to_list()
    assert sum(durations) == (wall_ns(made) or 0)
    assert all(duration > 0 for duration in durations)
    ends = [0, *(start + duration for start, duration in zip(starts, durations, strict=True))]
    assert starts == ends[:-1]


@given(workloads(max_ranks=1, max_streams=1, max_threads=1))
def test_a_single_thread_and_stream_without_guesses_is_exact(workload: Workload) -> None:
    run = simulate(replace(workload, noise=0.0), replace(MI300X, clock={}))
    # What a freeing or a copying call takes by itself, and what an event stands for, only some recordings show.
    guessed = ("hipFree", "hipMemcpy", "hipEventSynchronize", "hipEventRecord")
    if not any(call.name in guessed for call in run.calls) and run.calls:
        assert_true(run)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("torch_trace/")])
@pytest.mark.whole
def test_recorded_traces(specimens: Path, name: str) -> None:
    made = recording(specimens / name)
    path = critical_path(build(made))
    assert path.total_ns == path.wall_ns == wall_ns(made)
    assert sum(path.by_kind.values()) == path.total_ns
    assert sum(row.critical_path_score for row in path.by_kernel) <= 1
    assert all(0 <= row.impact_ns <= row.path_ns for row in path.by_kernel)


def test_a_training_step_waits_for_its_collectives(specimens: Path) -> None:
    file = next((specimens / "torch_trace").glob("*mi300_resnet_act_checkpoint*"))
    path = critical_path(build(load(file)))
    assert max(path.by_kind, key=lambda kind: path.by_kind[kind]) == "collective"


@given(workloads())
def test_the_impact_of_a_kernel_is_that_of_the_change(workload: Workload) -> None:
    graph = build(recorded(workload))
    for row in critical_path(graph).by_kernel:
        if row.impact_basis == "re-timed":
            for saved, factor in ((row.impact_ns, 1 / 0.9), (row.half_ns, 2.0), (row.whole_ns, float("inf"))):
                faster = FasterKernels(row.kernel, factor, exact=True).apply(graph)
                assert graph.wall_ns - retimed_wall_ns(faster) == saved
