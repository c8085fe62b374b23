"""What must hold for every workload."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocm_perf.sim.changes import FasterKernel, wall_if
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.samples import energy_j, samples
from rocm_perf.sim.steps import Workload
from rocm_perf.sim.timeline import START_NS, Item, Run
from rocm_perf.sim.truth import DEVICE_KINDS, critical_path, dependencies, gap_causes
from tests.properties import examples
from tests.sim.strategies import workloads
from tests.unit.sim.runs import MI300X, STEADY

runs = workloads().map(lambda workload: simulate(workload, MI300X))
fewer = examples(times=0.6)


def on_device(run: Run, rank: int) -> list[Item]:
    items = [item for item in run.items if item.kind in DEVICE_KINDS and item.stream.device.rank == rank]
    return sorted(items, key=lambda item: (item.start, item.end))


def everything(run: Run) -> list[list[Any]]:
    return [run.calls, run.items, run.host_work, run.ranges]


def fingerprint(run: Run) -> list[tuple[str, int, int]]:
    return [(node.name, node.start, node.end) for nodes in everything(run) for node in nodes]


@fewer
@given(runs)
def test_everything_ends_within_the_wall(run: Run) -> None:
    spans = [(node.start, node.end) for nodes in everything(run) for node in nodes]
    assert all(START_NS <= start <= end <= run.end_ns for start, end in spans)
    assert run.end_ns == max(end for _, end in spans)


@fewer
@given(runs)
def test_busy_and_idle_make_the_wall_in_every_queue(run: Run) -> None:
    for thread in run.threads:
        for stream in thread.device.streams.values():
            items = [item for item in on_device(run, thread.rank) if item.stream is stream]
            busy = sum(item.end - item.start for item in items)
            edges = [START_NS, *(edge for item in items for edge in (item.start, item.end)), run.end_ns]
            assert edges == sorted(edges)  # one after another, so that the sum of times is the union
            idle = sum(edges[place + 1] - edges[place] for place in range(0, len(edges), 2))
            assert busy + idle == run.wall_ns


@fewer
@given(runs)
def test_nothing_starts_before_its_launch_or_its_predecessor(run: Run) -> None:
    latency = MI300X.cost_ns("launch_latency")
    worked: dict[int, Item] = {}
    for item in run.items:
        launched = item.kind in ("kernel", "collective") or item.graph
        assert item.start >= item.call.issued + (latency if launched else 0)
        if item.before is not None:
            assert item.start >= item.before.end
        before = worked.get(id(item.stream))
        if item.kind != "marker":
            assert before is None or item.start >= before.end + item.gap
            worked[id(item.stream)] = item
        if item.waits_for is not None:
            assert item.end >= item.waits_for.end


@fewer
@given(runs)
def test_blocking_calls_return_after_the_work_and_threads_do_one_thing_at_a_time(run: Run) -> None:
    for call in run.calls:
        assert all(call.end > item.end for item in call.waited)
        if call.previous is not None:
            assert call.start >= call.previous.end


@fewer
@given(runs)
def test_copies_of_one_engine_never_overlap_and_kernels_share_one_gpu(run: Run) -> None:
    for rank in run.workload.ranks:
        items = on_device(run, rank)
        for kind in ("H2D", "D2H", "D2D"):
            copies = [item for item in items if item.kind == "copy" and item.name == kind]
            assert all(one.end <= other.start for one, other in pairwise(copies))
        for item in items:
            running = [other.share for other in items if other.start <= item.start < other.end]
            assert sum(running) <= 1 + 1e-9


@fewer
@given(runs)
def test_energy_is_the_integral_of_power(run: Run) -> None:
    power = samples(run).filter(metric="power_w")
    for rank in run.workload.ranks:
        of_rank = power.filter(agent_id=2 + rank).sort("time_ns")
        ends = of_rank["time_ns"].to_list()
        lengths = [end - start for start, end in zip([START_NS, *ends[:-1]], ends, strict=True)]
        integral = sum(watts * length for watts, length in zip(of_rank["value"], lengths, strict=True)) / 1e9
        assert integral == pytest.approx(energy_j(run, rank), rel=1e-9)


@fewer
@given(runs)
def test_the_critical_path_tiles_the_wall(run: Run) -> None:
    links = critical_path(run).links
    edges = [START_NS, *(link.end for link in links)]
    assert [link.start for link in links] == edges[:-1]
    assert edges[-1] == run.end_ns
    assert critical_path(run).total_ns == run.wall_ns


@fewer
@given(runs, st.sampled_from([DEVICE_KINDS, ("kernel",), ("kernel", "collective")]))
def test_gaps_are_the_complement_of_what_runs(run: Run, kinds: tuple[str, ...]) -> None:
    for rank in run.workload.ranks:
        free = [(START_NS, run.end_ns)]
        for item in on_device(run, rank):
            if item.kind in kinds:
                cut = [(low, min(high, item.start)) for low, high in free]
                free = [*cut, *((max(low, item.end), high) for low, high in free)]
                free = sorted(span for span in set(free) if span[0] < span[1])
        gaps = gap_causes(run, rank, kinds)
        assert [(gap.start, gap.end) for gap in gaps] == free
        assert all(sum(gap.causes.values()) == gap.duration_ns for gap in gaps)
        assert all(min(gap.causes.values()) > 0 for gap in gaps)


@fewer
@given(runs)
def test_no_effect_comes_before_its_cause(run: Run) -> None:
    for edge in dependencies(run):
        if edge.kind == "launch":
            assert edge.cause.start < edge.effect.start
        elif edge.kind == "sync":
            assert edge.cause.end <= edge.effect.end
        elif edge.kind == "collective":
            assert edge.cause.end == edge.effect.end
        else:
            assert edge.cause.end <= edge.effect.end


@fewer
@given(workloads())
def test_the_same_workload_is_the_same_run(workload: Workload) -> None:
    assert fingerprint(simulate(workload, MI300X)) == fingerprint(simulate(workload, MI300X))


@fewer
@given(workloads())
def test_another_seed_is_another_run_if_there_is_noise(workload: Workload) -> None:
    noisy = replace(workload, noise=0.05)
    assume(len(simulate(noisy, MI300X).items) > 2)
    other = replace(noisy, seed=workload.seed + 1)
    assert fingerprint(simulate(noisy, MI300X)) != fingerprint(simulate(other, MI300X))


@fewer
@given(workloads(max_ranks=1, max_streams=1, max_threads=1), st.floats(1.0, 10.0))
def test_a_faster_kernel_never_costs_time_in_a_single_stream(workload: Workload, factor: float) -> None:
    # The clock ramp may: a GPU that is done sooner rests longer.
    before = wall_if(workload, STEADY)
    for kernel in workload.kernels:
        assert wall_if(workload, STEADY, FasterKernel(kernel, factor)) <= before


@fewer
@given(workloads(max_ranks=1, max_streams=1, max_threads=1))
def test_what_the_path_says_of_a_kernel_bounds_what_speeding_it_up_gains(workload: Workload) -> None:
    run = simulate(workload, STEADY)
    path = critical_path(run).by_kernel
    for key, kernel in workload.kernels.items():
        gained = run.wall_ns - wall_if(workload, STEADY, FasterKernel(key, 2))
        launches = sum(item.kernel is not None and item.name == kernel.name for item in run.items)
        assert gained <= path.get(kernel.name, 0) / 2 + launches + 1
