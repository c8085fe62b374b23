from __future__ import annotations

from collections import Counter

import pytest

from rocm_perf.sim.engine import simulate
from rocm_perf.sim.timeline import START_NS, Run
from rocm_perf.sim.truth import Gap, critical_path, dependencies, gap_causes, work
from rocm_perf.sim.workload import parse_workload
from tests.unit.sim.runs import STEADY, items, run_steps, thread


def path_of(run: Run) -> list[tuple[str, int]]:
    return [(link.kind, link.duration_ns) for link in critical_path(run).links]


def last_gap_before_tail(run: Run, kinds: tuple[str, ...] = ("kernel", "copy", "collective")) -> Gap:
    return next(gap for gap in reversed(gap_causes(run, 0, kinds)) if gap.cause != "tail")


def test_the_path_of_one_launch_and_a_sync() -> None:
    run = run_steps('{launch = "big"}, {sync = "stream"}')
    expected = [("api", 3000), ("launch_latency", 4000), ("kernel", 20000), ("sync_return", 6000)]
    assert path_of(run) == expected
    assert critical_path(run).total_ns == run.wall_ns == 33000


def test_the_path_stays_on_a_host_that_was_busy_longer_than_the_work() -> None:
    run = run_steps('{launch = "small"}, {cpu = "x", us = 10}, {free = "x", bytes = 1}')
    assert run.calls[1].end == run.calls[1].issued > run.items[0].end
    assert path_of(run) == [("api", 3000), ("cpu", 10000), ("api", 20000)]


def test_the_path_takes_the_longer_stream() -> None:
    steps = '{launch = "small", stream = "side"}, {record = "e", stream = "side"}, {launch = "small"}, {wait = "e"}'
    run = run_steps(steps + ', {launch = "small"}, {sync = "device"}')
    assert critical_path(run).by_kernel == {"small": 20000}
    other = run_steps('{launch = "small", stream = "side"}, {launch = "big"}, {sync = "device"}')
    assert set(critical_path(other).by_kernel) == {"big"}


def test_the_path_goes_through_the_late_rank() -> None:
    steps = (
        '{{cpu = "load {0}", us = {1}}}, {{collective = "all_reduce", bytes = 50000}}, {{sync = "device"}}'
    )
    run = run_steps(thread(steps.format("quick", 10), 0), thread(steps.format("slow", 500), 1))
    path = critical_path(run)
    assert [link.name for link in path.links if link.kind == "cpu"] == ["load slow"]
    assert path.total_ns == run.wall_ns


def test_a_host_that_works_alone_is_the_whole_path() -> None:
    run = run_steps('{cpu = "a", us = 3}, {push = "r"}, {cpu = "b", us = 2}, {pop = true}')
    assert path_of(run) == [("cpu", 3000), ("range", 100), ("cpu", 2000), ("range", 100)]


@pytest.mark.parametrize(
    ("steps", "cause"),
    [
        ('{launch = "big"}, {sync = "stream"}, {launch = "big"}', "host_sync"),
        ('{launch = "big"}, {sync = "stream"}, {cpu = "x", us = 50}, {launch = "big"}', "host_busy"),
        ('{launch = "small"}, {cpu = "x", us = 50}, {launch = "big"}', "host_busy"),
        ('{launch = "small"}, {alloc = "x", bytes = 1}, {launch = "big"}', "host_api"),
        ('{launch = "big"}, {launch = "big"}', "queue_gap"),
        ('{launch = "big"}', "launch_latency"),
        ('{copy = "D2H", bytes = 1, blocking = true}, {copy = "D2H", bytes = 1}', "copy"),
    ],
)
def test_a_gap_has_its_cause(steps: str, cause: str) -> None:
    assert last_gap_before_tail(run_steps(steps)).cause == cause


def test_without_copies_as_work_they_are_causes() -> None:
    same = run_steps('{copy = "H2D", bytes = 5500000}, {launch = "big"}')
    assert last_gap_before_tail(same, ("kernel",)).cause == "copy"
    other = '{copy = "H2D", bytes = 5500000, stream = "s"}, {record = "e", stream = "s"}'
    across = run_steps(other + ', {wait = "e"}, {launch = "big"}')
    assert last_gap_before_tail(across, ("kernel",)).cause == "event"


def test_without_collectives_as_work_they_are_causes() -> None:
    steps = '{{cpu = "load", us = {}}}, {{collective = "all_reduce", bytes = 8}}, {{launch = "big"}}'
    run = run_steps(thread(steps.format(1), 0), thread(steps.format(500), 1))
    assert gap_causes(run, 0, ("kernel",))[0].cause == "collective"
    assert gap_causes(run, 1, ("kernel",))[0].cause == "host_busy"


def test_the_tail_is_what_follows_the_last_work() -> None:
    run = run_steps('{launch = "big"}, {sync = "device"}, {cpu = "x", us = 7}')
    tail = gap_causes(run, 0)[-1]
    assert (tail.cause, tail.duration_ns, tail.end) == ("tail", 13000, run.wall_ns + START_NS)


def test_dependencies_by_kind() -> None:
    steps = '{launch = "big"}, {record = "e"}, {wait = "e", stream = "s"}, {launch = "big", stream = "s"}'
    steps += ', {launch = "big"}, {collective = "all_reduce", bytes = 8}, {sync = "device"}'
    run = run_steps(thread(steps, 0), thread('{collective = "all_reduce", bytes = 8}', 1))
    kinds = Counter(edge.kind for edge in dependencies(run))
    assert kinds == {
        "program": 6,
        "launch": 7,
        "stream": 4,
        "event": 1,
        "sync": 2,
        "capacity": 1,
        "collective": 2,
    }


def test_every_edge_runs_forward_in_time() -> None:
    run = run_steps('{launch = "big"}, {record = "e"}, {sync = "e"}, {launch = "small"}, {sync = "device"}')
    for edge in dependencies(run):
        if edge.kind in ("stream", "event"):
            assert edge.cause.end <= edge.effect.start
        if edge.kind == "sync":
            assert edge.cause.end <= edge.effect.end


def test_work_counts_operations_and_bytes() -> None:
    text = (
        "[kernel.k]\nflops = {f32 = 100.0, f16 = 7.0}\nbytes = {hbm = 30.0}\n[kernel.t]\nduration_us = 2.0\n"
    )
    steps = '{repeat = 3, steps = [{launch = "k"}]}, {launch = "t"}'
    run = simulate(parse_workload(text + thread(steps)), STEADY)
    first, second = work(run)
    assert (first.kernel, first.launches, first.flops, first.bytes) == (
        "k",
        3,
        {"f32": 300, "f16": 21},
        {"hbm": 90},
    )
    assert (second.kernel, second.duration_ns, second.flops) == ("t", 2000, {})
    assert first.duration_ns == sum(item.end - item.start for item in items(run, "kernel")[:3])
