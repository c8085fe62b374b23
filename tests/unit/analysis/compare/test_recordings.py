from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given

from rocm_perf.analysis.compare.recordings import compare, match_findings
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.ingest.load import load
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.comparison import Comparison, WallChange
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import kineto, rocpd, rocprofv3, rocprofv3_json
from rocm_perf.sim.workload import Workload, read_workload
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads
from tests.unit.analysis.traces import call, kernel, trace

WORKLOADS = Path(__file__).parents[4] / "examples" / "workloads"


@cache
def example(name: str) -> Trace:
    return recorded(read_workload(WORKLOADS / f"{name}.toml"))


def check_sums(wall: WallChange) -> None:
    assert sum(part.base_ns for part in wall.parts) == wall.base_ns
    assert sum(part.new_ns for part in wall.parts) == wall.new_ns
    assert sum(part.difference_ns for part in wall.parts) == wall.difference_ns == wall.new_ns - wall.base_ns
    assert all(part.base_ns >= 0 and part.new_ns >= 0 for part in wall.parts)


@given(workloads(), workloads())
def test_the_parts_sum_to_the_difference(one: Workload, other: Workload) -> None:
    base, new = recorded(one), recorded(other)
    comparison = compare(base, new)
    for wall in comparison.gpus:
        check_sums(wall)
    if comparison.wall:
        check_sums(comparison.wall)
        assert comparison.wall.difference_ns == (wall_ns(new) or 0) - (wall_ns(base) or 0)
    sums = [sum(getattr(change, side) for change in comparison.kernels) for side in ("base_ns", "new_ns")]
    assert sums == [comparison.base.kernel_ns, comparison.new.kernel_ns]


@given(workloads())
def test_a_run_does_not_differ_from_itself(workload: Workload) -> None:
    run = recorded(workload)
    comparison = compare(run, run)
    assert all(part.difference_ns == 0 for wall in comparison.gpus for part in wall.parts)
    assert all((change.match, change.difference_ns) == ("name", 0) for change in comparison.kernels)


WRITERS: dict[str, Callable[[Trace, Path], object]] = {
    "rocpd.db": rocpd.write,
    "v3.json": rocprofv3_json.write,
    "v3": lambda run, path: rocprofv3.write_csv(run, path, "out"),
    "torch.json": kineto.write,
}


@pytest.mark.parametrize("name", ["sync_in_loop", "slivers", "copy_in_loop"])
@pytest.mark.parametrize("file", WRITERS)
def test_two_formats_of_one_run_do_not_differ(tmp_path: Path, name: str, file: str) -> None:
    run = example(name)
    WRITERS[file](run, tmp_path / file)
    comparison = compare(run, load(tmp_path / file))
    assert comparison.wall
    assert [part.id for part in comparison.wall.parts if abs(part.difference_ns) > 0] == []
    assert [
        change for change in comparison.kernels if change.difference_ns or change.match == "appeared"
    ] == []


def test_the_fix_shows_where_the_time_went() -> None:
    comparison = compare(example("sync_in_loop"), example("sync_hoisted"))
    assert comparison.wall
    assert comparison.wall.parts[0].id == "host_sync"
    assert comparison.wall.parts[0].new_ns == 0
    assert comparison.speedup.value == pytest.approx(comparison.base.wall_ns / comparison.new.wall_ns)  # type: ignore[operator]
    assert comparison.speedup.value > 2  # type: ignore[operator]


def parts(comparison: Comparison) -> dict[str, int]:
    assert comparison.wall
    return {part.id: part.difference_ns for part in comparison.wall.parts}


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
    assert parts(compare(base, new)) == {"before_first": -10, "kernels": 10, "copies": -30, "after_last": -20}


def test_kernels_are_matched_by_name_then_by_short_name() -> None:
    base = [
        kernel("void f<int>(int*)", 0, 10),
        kernel("void g<4>(int)", 20, 25),
        kernel("h.kd", 30, 33),
        kernel("old", 40, 47),
    ]
    new = [
        kernel("void f<int>(int*)", 0, 12),
        kernel("void f<int>(int*)", 15, 17),
        kernel("void g<8>(int)", 20, 24),
        kernel("h", 30, 33),
        kernel("fresh", 40, 41),
    ]
    comparison = compare(trace(dispatches=base), trace(dispatches=new))
    assert [(c.kernel, c.match, c.base_calls, c.new_calls, c.difference_ns) for c in comparison.kernels] == [
        ("old", "vanished", 1, 0, -7),
        ("f", "name", 1, 2, 4),
        ("fresh", "appeared", 0, 1, 1),
        ("g", "short name", 1, 1, -1),
        ("h", "name", 1, 1, 0),
    ]
    assert (comparison.kernels[1].base_mean_ns, comparison.kernels[1].new_mean_ns) == (10, 7)
    assert comparison.kernels[0].new_mean_ns is None
    assert comparison.notes == ("1 kernel matched by short name, because the whole names differ",)


def test_gpus_are_matched_by_position() -> None:
    base = trace(dispatches=[kernel("k", 0, 10, agent_id=1), kernel("k", 0, 30, agent_id=2)])
    new = trace(dispatches=[kernel("k", 0, 25, agent_id=4), kernel("k", 5, 20, agent_id=7)])
    comparison = compare(base, new)
    assert [(gpu.base_gpu, gpu.new_gpu) for gpu in comparison.gpus] == [
        ("GPU 1", "GPU 4"),
        ("GPU 2", "GPU 7"),
    ]
    assert comparison.wall == comparison.gpus[1]  # the busiest of the base
    assert parts(comparison) == {"kernels": -15, "before_first": 5, "after_last": 5}


def test_the_longest_node_tells_the_wall() -> None:
    base = trace(dispatches=[kernel("k", 0, 10), kernel("k", 0, 30, node=1)])
    new = trace(dispatches=[kernel("k", 0, 50), kernel("k", 0, 30, node=1)])
    comparison = compare(base, new)
    assert comparison.wall
    assert (comparison.wall.base_ns, comparison.wall.new_ns) == (30, 50)
    assert (comparison.wall.base_gpu, comparison.wall.new_gpu) == ("GPU 0 of node 1", "GPU 0")


def test_unequal_numbers_of_gpus() -> None:
    base = trace(dispatches=[kernel("k", 0, 10, agent_id=1)])
    new = trace(dispatches=[kernel("k", 0, 25, agent_id=4), kernel("k", 5, 20, agent_id=7)])
    comparison = compare(base, new)
    assert comparison.gpus == ()
    assert parts(comparison) == {"kernels": 15}
    assert comparison.notes == (
        "1 GPU and 2 GPUs did work: the parts are those of the busiest GPU on each side",
    )


def test_what_cannot_be_compared_says_why() -> None:
    timed = trace(dispatches=[kernel("k", 0, 10)], api_calls=[call("hipMalloc", 0, 5)])
    summary = trace(
        summaries=[{"domain": "kernel", "name": "k", "calls": 2, "total_ns": 30.0, "mean_ns": 15.0}]
    )
    comparison = compare(timed, summary, ("a.db", "b.csv"))
    assert comparison.wall is None
    assert comparison.wall_unavailable == "b.csv: no kernel and no copy with times"
    assert comparison.speedup.unavailable == "b.csv has no times of single events"
    assert comparison.kernels[0].difference_ns == 20
    assert "one run per side" in (comparison.interval.unavailable or "")


def test_walls_of_different_extent_are_noted() -> None:
    whole = trace(dispatches=[kernel("k", 5, 10)], api_calls=[call("hipMalloc", 0, 5)])
    alone = trace(dispatches=[kernel("k", 5, 10)])
    for one, other in ((whole, alone), (alone, whole)):
        (note,) = compare(one, other).notes
        assert note.startswith("the walls span different things")
    assert compare(whole, whole).notes == ()


def test_findings_that_came_and_went() -> None:
    def finding(name: str, stake: int | None = None) -> Finding:
        return Finding(name, "warning", f"about {name}", time_at_stake_ns=stake)

    changes = match_findings(
        [finding("a", 5), finding("b", 7), finding("b", 1)], [finding("c"), finding("b", 3)]
    )
    assert [(c.id, c.fate, c.base_at_stake_ns, c.new_at_stake_ns) for c in changes] == [
        ("c", "came", None, None),
        ("a", "went", 5, None),
        ("b", "stayed", 7, 3),
    ]


def test_unequal_numbers_of_steps_compare_by_the_step() -> None:
    def steps(count: int, length: int) -> Trace:
        rows = [
            kernel(name, n * 100 + at, n * 100 + at + length)
            for n in range(count)
            for name, at in (("a", 0), ("b", 50))
        ]
        marks = [
            {"name": "step", "source": "roctx", "start_ns": n * 100, "end_ns": n * 100 + 100, "depth": 0}
            for n in range(count)
        ]
        return trace(dispatches=rows, ranges=marks)

    comparison = compare(steps(10, 30), steps(20, 20))
    change = comparison.steps
    assert change
    assert (change.base_steps, change.new_steps) == (10, 20)
    assert (change.base_ns, change.new_ns) == (100, 100)
    assert (change.base_kernels, change.new_kernels) == (2, 2)
    assert "10 and 20 steps" in comparison.notes[0]
    assert (comparison.kernel_count.verdict, comparison.kernel_count.value.value) == ("missed", 1)


def test_without_steps_it_says_why() -> None:
    comparison = compare(trace(dispatches=[kernel("k", 0, 10)]), trace(dispatches=[kernel("k", 0, 10)]))
    assert comparison.steps is None
    assert comparison.steps_unavailable
    assert comparison.kernel_count.value.formula == "kernels in all of new / of base"
