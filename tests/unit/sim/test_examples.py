"""Each example makes the point that the comment at its top claims."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rocm_perf.sim.changes import AsyncCopies, Captured, FasterKernel, Fused, ScaledCpu, SyncsHoisted, wall_if
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.timeline import Run
from rocm_perf.sim.truth import DEVICE_KINDS, critical_path, gap_causes, work
from rocm_perf.sim.workload import Workload, read_workload
from tests.unit.sim.runs import MI300X

FOLDER = Path(__file__).parents[3] / "examples" / "workloads"
FILES = sorted(FOLDER.glob("*.toml"))


def load(name: str) -> tuple[Workload, Run]:
    workload = read_workload(FOLDER / f"{name}.toml")
    return workload, simulate(workload, MI300X)


def busy_share(run: Run, rank: int = 0, kinds: tuple[str, ...] = DEVICE_KINDS) -> float:
    return 1 - sum(gap.duration_ns for gap in gap_causes(run, rank, kinds)) / run.wall_ns


def idle_by_cause(run: Run, rank: int = 0, kinds: tuple[str, ...] = DEVICE_KINDS) -> Counter[str]:
    totals: Counter[str] = Counter()
    for gap in gap_causes(run, rank, kinds):
        totals[gap.cause] += gap.duration_ns
    return totals


def test_there_are_five_lessons_and_a_twin() -> None:
    assert [path.stem for path in FILES] == [
        "copy_in_loop", "slivers", "softmax", "straggler", "sync_hoisted", "sync_in_loop",
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_says_what_it_teaches(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "# What it teaches: " in text
    assert read_workload(path).name == path.stem


def test_sync_in_loop_leaves_the_gpu_idle_for_the_host() -> None:
    _, run = load("sync_in_loop")
    assert 0.2 < busy_share(run) < 0.4
    causes = idle_by_cause(run)
    assert causes["host_sync"] > 0.9 * causes.total()


def test_sync_hoisted_is_the_cure() -> None:
    workload, run = load("sync_in_loop")
    _, cured = load("sync_hoisted")
    assert busy_share(cured) > 0.75
    assert run.wall_ns > 2 * cured.wall_ns
    assert wall_if(workload, MI300X, SyncsHoisted()) == pytest.approx(cured.wall_ns, rel=0.01)
    assert [one.launches for one in work(run)] == [one.launches for one in work(cured)] == [60] * 6


def test_slivers_gain_from_a_graph_and_more_from_fusion() -> None:
    workload, run = load("slivers")
    chain = ("pow", "mul", "add", "mul", "tanh", "mul")
    assert max(one.duration_ns / one.launches for one in work(run)) < 3000
    assert busy_share(run) < 0.6
    graph = wall_if(workload, MI300X, Captured())
    fused = wall_if(workload, MI300X, Fused(chain, kept_bytes=5 * 4_194_304))
    assert fused < 0.5 * graph < 0.5 * run.wall_ns


def test_copy_in_loop_waits_for_the_copy() -> None:
    workload, run = load("copy_in_loop")
    back = [item for item in run.items if item.kind == "copy" and item.name == "D2H"]
    assert len(back) == 30
    assert busy_share(run, kinds=("kernel",)) < 0.6
    causes = idle_by_cause(run, kinds=("kernel",))
    assert causes["copy"] > 0.9 * causes.total()
    assert wall_if(workload, MI300X, AsyncCopies()) < 0.7 * run.wall_ns


def test_the_straggler_is_on_the_path() -> None:
    workload, run = load("straggler")
    host = Counter(link.rank for link in critical_path(run).links if link.kind == "cpu")
    assert set(host) == {2}
    waits = {rank: idle_by_cause(run, rank, ("kernel",)).most_common(1)[0][0] for rank in workload.ranks}
    assert waits == {0: "collective", 1: "collective", 2: "host_busy", 3: "collective"}
    assert wall_if(workload, MI300X, ScaledCpu(2, 0.25)) < 0.7 * run.wall_ns
    assert wall_if(workload, MI300X, ScaledCpu(1, 0.25)) == pytest.approx(run.wall_ns, rel=0.01)


def test_softmax_is_bound_by_memory() -> None:
    workload, run = load("softmax")
    (softmax,) = work(run)
    assert busy_share(run) > 0.95
    assert (
        softmax.flops["f32"] / softmax.bytes["hbm"]
        < 0.1 * MI300X.rates["vector"]["f32"] / MI300X.rates["hbm"]
    )
    rate = softmax.bytes["hbm"] / softmax.duration_ns / 1000
    assert rate == pytest.approx(MI300X.rates["hbm"] * MI300X.rates["efficiency"], rel=0.02)
    assert wall_if(workload, MI300X, SyncsHoisted(), Captured()) == pytest.approx(run.wall_ns, rel=0.01)
    assert wall_if(workload, MI300X, FasterKernel("softmax", 2)) == pytest.approx(run.wall_ns / 2, rel=0.02)
