from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from rocm_perf.analysis.compare.estimates import time_change
from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.analysis.serving.part import of_kind
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.ingest.load import load
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.results.wall_change import WallChange
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import kineto, rocpd, rocprofv3, rocprofv3_json
from rocm_perf.sim.workload import Workload
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads
from tests.unit.analysis.compare.sides import compared, example, loop, side
from tests.unit.analysis.serving.loops import MS, Planted, ahead
from tests.unit.analysis.traces import call, kernel, trace


def check_sums(wall: WallChange) -> None:
    assert sum(part.base_ns for part in wall.parts) == wall.base_ns
    assert sum(part.new_ns for part in wall.parts) == wall.new_ns
    assert sum(part.difference_ns for part in wall.parts) == wall.difference_ns == wall.new_ns - wall.base_ns
    assert all(part.base_ns >= 0 and part.new_ns >= 0 for part in wall.parts)


@given(workloads(), workloads())
@pytest.mark.whole
def test_the_parts_sum_to_the_difference(one: Workload, other: Workload) -> None:
    base, new = recorded(one), recorded(other)
    comparison = compared(base, new)
    for wall in comparison.gpus:
        check_sums(wall)
    if comparison.waterfall:
        check_sums(comparison.waterfall)
        assert comparison.waterfall.difference_ns == (wall_ns(new) or 0) - (wall_ns(base) or 0)
    sums = [
        sum(change.total.base or 0 for change in comparison.kernels),
        sum(change.total.new or 0 for change in comparison.kernels),
    ]
    assert sums == [comparison.base.runs[0].kernel_ns, comparison.new.runs[0].kernel_ns]


@given(workloads())
def test_a_run_does_not_differ_from_itself(workload: Workload) -> None:
    run = recorded(workload)
    comparison = compared(run, run, whole=False)
    assert all(part.difference_ns == 0 for wall in comparison.gpus for part in wall.parts)
    assert all((change.match, change.total.difference) == ("name", 0) for change in comparison.kernels)


WRITERS: dict[str, Callable[[Trace, Path], object]] = {
    "rocpd.db": rocpd.write,
    "v3.json": rocprofv3_json.write,
    "v3": lambda run, path: rocprofv3.write_csv(run, path, "out"),
    "torch.json": kineto.write,
}


@pytest.mark.parametrize("name", ["sync_in_loop", "slivers", "copy_in_loop"])
@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.whole
def test_two_formats_of_one_run_do_not_differ(tmp_path: Path, name: str, file: str) -> None:
    run = example(name)
    WRITERS[file](run, tmp_path / file)
    comparison = compared(run, load(tmp_path / file))
    assert comparison.waterfall
    assert [part.id for part in comparison.waterfall.parts if part.difference_ns] == []
    assert {(change.match, change.total.difference) for change in comparison.kernels} == {("name", 0)}


def test_the_fix_shows_where_the_time_went() -> None:
    comparison = compared(example("sync_in_loop"), example("sync_hoisted"))
    assert comparison.waterfall
    assert comparison.waterfall.parts[0].id == "host_sync"
    assert comparison.waterfall.parts[0].new_ns == 0
    assert comparison.wall.ratio
    assert 1 / comparison.wall.ratio == pytest.approx(2.42, abs=0.01)  # as README says of this example


def parts(comparison: Comparison) -> dict[str, int]:
    assert comparison.waterfall
    return {part.id: part.difference_ns for part in comparison.waterfall.parts}


def test_each_part_by_hand() -> None:
    copy = {"kind": "D2H", "start_ns": 250, "end_ns": 340, "agent_id": 0, "stream_id": 1}
    base = trace(
        dispatches=[kernel("k", 100, 300)],
        copies=[copy],
        api_calls=[call("hipMalloc", 0, 50), call("x", 390, 400)],
    )
    new = trace(
        dispatches=[kernel("k", 90, 300)],
        copies=[{**copy, "end_ns": 310}],
        api_calls=[call("hipMalloc", 0, 350)],
    )
    assert parts(compared(base, new)) == {
        "before_first": -10,
        "kernels": 10,
        "copies": -30,
        "after_last": -20,
    }


def test_gpus_are_matched_by_position() -> None:
    base = trace(dispatches=[kernel("k", 0, 10, agent_id=1), kernel("k", 0, 30, agent_id=2)])
    new = trace(dispatches=[kernel("k", 0, 25, agent_id=4), kernel("k", 5, 20, agent_id=7)])
    comparison = compared(base, new)
    assert [(gpu.base_gpu, gpu.new_gpu) for gpu in comparison.gpus] == [
        ("GPU 1", "GPU 4"),
        ("GPU 2", "GPU 7"),
    ]
    assert comparison.waterfall == comparison.gpus[1]  # the busiest of the base
    assert parts(comparison) == {"kernels": -15, "before_first": 5, "after_last": 5}


def test_the_longest_node_tells_the_wall() -> None:
    base = trace(dispatches=[kernel("k", 0, 10), kernel("k", 0, 30, node=1)])
    new = trace(dispatches=[kernel("k", 0, 50), kernel("k", 0, 30, node=1)])
    comparison = compared(base, new)
    wall = comparison.waterfall
    assert wall
    assert (wall.base_ns, wall.new_ns) == (30, 50)
    assert (wall.base_gpu, wall.new_gpu) == ("GPU 0 of node 1", "GPU 0")


def test_unequal_numbers_of_gpus() -> None:
    base = trace(dispatches=[kernel("k", 0, 10, agent_id=1)])
    new = trace(dispatches=[kernel("k", 0, 25, agent_id=4), kernel("k", 5, 20, agent_id=7)])
    comparison = compared(base, new)
    assert comparison.gpus == ()
    assert parts(comparison) == {"kernels": 15}
    assert comparison.notes == ("1 and 2 GPUs did work: the parts are those of the busiest GPU on each side",)


def test_what_cannot_be_compared_says_why() -> None:
    timed = trace(dispatches=[kernel("k", 0, 10)], api_calls=[call("hipMalloc", 0, 5)])
    summary = trace(
        summaries=[{"domain": "kernel", "name": "k", "calls": 2, "total_ns": 30.0, "mean_ns": 15.0}]
    )
    comparison = compare([Recording("a.db", timed)], [Recording("b.csv", summary)])
    assert comparison.waterfall is None
    assert comparison.wall_unavailable == "b.csv: no event with a time"
    assert comparison.wall.ratio is None
    (change,) = comparison.kernels
    assert (change.total.base, change.total.new, change.calls.new) == (10, 30, 2)
    assert (change.median.base, change.median.new) == (10, None)


def test_walls_of_different_extent_are_noted() -> None:
    whole = trace(dispatches=[kernel("k", 5, 10)], api_calls=[call("hipMalloc", 0, 5)])
    alone = trace(dispatches=[kernel("k", 5, 10)])
    for one, other in ((whole, alone), (alone, whole)):
        comparison = compared(one, other)
        assert comparison.notes == (comparison.wall_doubt,)
        assert (comparison.wall_doubt or "").startswith("the walls span different things")
    assert compared(whole, whole).notes == ()


def finding(name: str, stake: int | None = None) -> Finding:
    return Finding(name, "warning", f"about {name}", time_at_stake_ns=stake)


def test_findings_that_came_and_went() -> None:
    run = trace(dispatches=[kernel("k", 0, 10)])
    base = [finding("a", 5), finding("b", 7), finding("b", 1)]
    new = [finding("c"), finding("b", 3)]
    comparison = compare([Recording("base", run, tuple(base))], [Recording("new", run, tuple(new))])
    assert [(c.id, c.fate, c.base_at_stake_ns, c.new_at_stake_ns) for c in comparison.findings] == [
        ("c", "came", None, None),
        ("a", "went", 5, None),
        ("b", "stayed", 7, 3),
    ]


def test_a_finding_of_a_minority_of_runs_is_not_the_sides() -> None:
    run = trace(dispatches=[kernel("k", 0, 10)])
    with_it, without = Recording("with", run, (finding("a", 6),)), Recording("without", run)
    comparison = compare([with_it, without, without], [with_it, with_it, without])
    (change,) = comparison.findings
    assert (change.fate, change.base_runs, change.new_runs, change.new_at_stake_ns) == ("came", 1, 2, 6)


def test_a_finding_about_a_renamed_kernel_stays() -> None:
    old, new = (
        trace(dispatches=[kernel("norm", 0, 9), kernel(name, 20, 50)])
        for name in ("flash_fwd_v2", "fmha_fwd")
    )
    about = [(finding(f"kernel-{name}"),) for name in ("flash_fwd_v2", "fmha_fwd")]
    comparison = compare([Recording("base", old, about[0])], [Recording("new", new, about[1])])
    assert [(c.id, c.fate) for c in comparison.findings] == [("kernel-fmha_fwd", "stayed")]


def steps(count: int, length: int, period: int = 100) -> Trace:
    rows = [
        kernel(name, n * period + at, n * period + at + length)
        for n in range(count)
        for name, at in (("a", 0), ("b", 50))
    ]
    marks = [
        {"name": "step", "source": "roctx", "start_ns": n * period, "end_ns": (n + 1) * period, "depth": 0}
        for n in range(count)
    ]
    return trace(dispatches=rows, ranges=marks)


def test_unequal_numbers_of_steps_compare_by_the_step() -> None:
    comparison = compared(steps(10, 30), steps(20, 20, period=90), whole=False)
    assert (comparison.per, comparison.basis) == ("step", "ranges named 'step'")
    assert [side.runs[0].steps for side in (comparison.base, comparison.new)] == [10, 20]
    assert (comparison.wall.base, comparison.wall.new) == (100, 90)
    assert (comparison.launches.base, comparison.launches.new) == (2, 2)
    assert {(c.total.base, c.total.new, c.calls.new) for c in comparison.kernels} == {(30, 20, 1)}
    assert comparison.waterfall
    check_sums(comparison.waterfall)
    assert comparison.waterfall.difference_ns == -10
    assert comparison.kernel_count.verdict == "missed"


def test_without_steps_it_says_why() -> None:
    comparison = compared(steps(10, 30), trace(dispatches=[kernel("k", 0, 10)]), whole=False)
    assert comparison.per == "run"
    assert comparison.basis.startswith("new has no steady state: ")
    assert comparison.wall.base == 1000


def test_steps_that_are_shown_in_different_ways_are_not_taken_for_the_same() -> None:
    marked = steps(10, 30)
    bare = Trace({"dispatches": marked.table("dispatches")}, marked.run)
    comparison = compared(marked, bare, whole=False)
    assert comparison.per == "run"
    assert comparison.basis == (
        "steps are shown by ranges of the program before, by the sequence of kernels after"
    )


def bare_loop(turns: int, layers: int, *, marked: bool) -> Trace:
    """Steps of some layers and, if marked, a head, without anything but the kernels to show them."""
    names = [*(f"{kind}" for _ in range(layers) for kind in "abc"), *(["head"] if marked else [])]
    return trace(
        dispatches=[kernel(name, 20 * place, 20 * place + 10) for place, name in enumerate(names * turns)]
    )


def test_a_layer_is_not_compared_with_a_step() -> None:
    comparison = compared(bare_loop(8, 6, marked=True), bare_loop(8, 6, marked=False), whole=False)
    assert comparison.per == "run"
    assert "pieces of the same steps" in comparison.basis
    assert comparison.wall.ratio == pytest.approx(18 / 19, abs=0.01)
    fewer = compared(bare_loop(8, 6, marked=True), bare_loop(8, 3, marked=True), whole=False)
    assert fewer.per == "step"  # the same steps with half of the kernels


DAYS = (1.0, 0.995, 1.004, 1.001, 0.998)  # how slow the machine was


def test_a_known_change_is_shown_with_an_interval_that_holds_it() -> None:
    base = side(*(loop(seed, 100.0, scale=day) for seed, day in enumerate(DAYS)))
    new = side(*(loop(seed + 50, 110.0, scale=day) for seed, day in enumerate(DAYS)))
    comparison = compare(base, new)
    gemm, norm = sorted(comparison.kernels, key=lambda change: change.kernel)
    assert comparison.per == "step"
    for change in (gemm.median, comparison.wall):
        assert change.verdict == "worse"
        assert change.interval
    low, high = gemm.median.interval or (0, 0)
    assert low < 1.1 < high
    assert (gemm.calls.base, gemm.calls.new) == (1, 1)
    assert norm.median.verdict == "no difference shown"
    assert comparison.waterfall
    check_sums(comparison.waterfall)
    assert comparison.wall.base == pytest.approx(comparison.waterfall.base_ns, abs=0.5)
    assert comparison.wall.new == pytest.approx(comparison.waterfall.new_ns, abs=0.5)


@pytest.mark.parametrize("runs", [2, 3, 4])
def test_the_parts_of_any_number_of_runs_sum_to_the_median_wall(runs: int) -> None:
    base = side(*(loop(seed, 100.0) for seed in range(runs)))
    new = side(*(loop(seed + 50, 110.0) for seed in range(runs + 1)))
    comparison = compare(base, new)
    assert comparison.waterfall
    check_sums(comparison.waterfall)
    assert comparison.wall.difference == pytest.approx(comparison.waterfall.difference_ns, abs=1)


@pytest.mark.thorough
def test_the_same_program_is_seldom_called_different() -> None:
    random, trials = Random(3), 400
    pool = side(*(loop(seed, 100.0, scale=random.gauss(1, 0.02)) for seed in range(20)))
    walls = list(compare(pool, pool[:1]).wall.base_runs)
    assert len(set(walls)) == 20
    alarms = 0
    for _ in range(trials):
        random.shuffle(walls)
        alarms += time_change(walls[:5], walls[5:10]).verdict != "no difference shown"
    assert alarms <= 33  # 5 % of them are 20; more than 33 would come about in 0.2 % of cases


def test_one_run_each_has_no_interval() -> None:
    comparison = compare(side(loop(0, 100.0)), side(loop(1, 110.0)))
    assert (comparison.wall.interval, comparison.wall.no_interval) == (None, "one run each: no interval")
    assert comparison.wall.verdict == "no difference shown"
    assert comparison.wall.ratio
    assert comparison.wall.ratio > 1.05


def test_a_kernel_that_some_runs_lack_has_no_interval() -> None:
    one, both = [kernel("k", 0, 10)], [kernel("k", 0, 10), kernel("rare", 20, 25)]
    comparison = compare(
        side(trace(dispatches=both), trace(dispatches=one)),
        side(trace(dispatches=both), trace(dispatches=both)),
    )
    (rare,) = (change for change in comparison.kernels if change.kernel == "rare")
    assert (rare.total.base_runs, rare.total.no_interval) == (
        (5, 0),
        "it takes no time in some of the runs",
    )
    assert rare.calls.base_range == (0, 1)


def test_two_steps_of_a_kind_are_compared_without_what_the_host_did_before() -> None:
    """The host takes 0.5 ms to launch a decode step on one side, 0.9 ms on the other; the GPU 1 ms for it on both."""
    prefill, decode = "execute_context_1(512)_generation_0(0)", "execute_context_0(0)_generation_8(8)"
    steps = [Planted(prefill, 4 * MS), Planted(decode, MS), Planted(decode, MS)]
    base, new = (
        Recording(f"{host_us} us", of_kind(ahead(steps, host_ns=1000 * host_us), "decode"))
        for host_us in (500, 900)
    )
    comparison = compare([base], [new])
    assert (comparison.per, comparison.wall.base, comparison.wall.new) == ("step", MS, MS)


def test_annotated_steps_are_compared_without_what_the_gpu_found_before_them() -> None:
    """One prefill step each, behind 20 ms of work that is not in the recording."""
    one = ahead([Planted("execute_context_1(512)_generation_0(0)", 4 * MS)], queued_ns=20 * MS)
    comparison = compare(side(one), side(one))
    assert (comparison.per, comparison.wall.base) == ("step", 4 * MS)


def test_steps_of_other_kinds_are_compared_as_runs() -> None:
    prefill, decode = (
        ahead([Planted(name, MS)])
        for name in ("execute_context_1(512)_generation_0(0)", "execute_context_0(0)_generation_8(8)")
    )
    assert compare(side(prefill), side(decode)).per == "run"
