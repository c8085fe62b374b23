"""Projections against the truth: the wall time of the changed workload, simulated again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import polars as pl
import pytest
from hypothesis import given

from rocm_perf.analysis.graph import Graph, build
from rocm_perf.analysis.path.changes import (
    Change,
    CopiesAsync,
    FasterKernels,
    SyncsNarrowed,
    SyncsRemoved,
)
from rocm_perf.analysis.path.joined import Captured, Fused
from rocm_perf.analysis.path.rank_changes import ScaledHost
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.errors import UsageError
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.trace import Trace
from rocm_perf.sim import changes as sim
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import SimGpu
from rocm_perf.sim.record import record
from rocm_perf.sim.steps import Workload
from rocm_perf.sim.workload import parse_workload, read_workload
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads
from tests.unit.sim.runs import KERNELS, MI300X, STEADY, thread

WORKLOADS = Path(__file__).resolve().parents[4] / "examples" / "workloads"
CAPTURED = Captured(MI300X.cost_ns("graph_call"), MI300X.cost_ns("graph_gap"))

PAIRS: dict[str, tuple[Change, sim.Change]] = {
    "syncs hoisted": (SyncsRemoved(), sim.SyncsHoisted()),
    "syncs narrowed": (SyncsNarrowed(), sim.StreamSyncs()),
    "captured": (CAPTURED, sim.Captured()),
    "copies asynchronous": (CopiesAsync(), sim.AsyncCopies()),
}


def example(name: str) -> Workload:
    return replace(read_workload(WORKLOADS / f"{name}.toml"), noise=0.0)


def steps(*threads: str) -> Workload:
    return parse_workload(KERNELS + "".join(one if one.startswith("[[") else thread(one) for one in threads))


def graph_of(workload: Workload, gpu: SimGpu = MI300X) -> Graph:
    return build(record(simulate(workload, gpu)))


@cache
def example_graph(name: str) -> Graph:
    return graph_of(example(name))


def assert_right(
    workload: Workload, mine: Change, true: sim.Change, gpu: SimGpu = STEADY, graph: Graph | None = None
) -> Projection:
    projection = whatif(graph or graph_of(workload, gpu), mine)
    assert projection.wall_ns == pytest.approx(sim.wall_if(workload, gpu, true), rel=0.02)
    return projection


@pytest.mark.parametrize("name", sorted(file.stem for file in WORKLOADS.glob("*.toml")))
@pytest.mark.parametrize("change", PAIRS)
def test_the_examples(name: str, change: str) -> None:
    assert_right(example(name), *PAIRS[change], MI300X, example_graph(name))


@pytest.mark.parametrize("name", sorted(file.stem for file in WORKLOADS.glob("*.toml")))
@pytest.mark.parametrize("factor", [0.5, 1.25, 4.0])
def test_kernels_of_the_examples_made_faster(name: str, factor: float) -> None:
    workload, graph = example(name), example_graph(name)
    for key, kernel in workload.kernels.items():
        faster = FasterKernels(kernel.name, factor, exact=True)
        assert_right(workload, faster, sim.FasterKernel(key, factor), MI300X, graph)


def test_the_sync_in_the_loop_is_worth_what_the_fixed_version_gains() -> None:
    projection = whatif(graph_of(example("sync_in_loop")), SyncsRemoved())
    fixed = simulate(example("sync_hoisted"), MI300X).wall_ns
    assert projection.wall_ns == pytest.approx(fixed, rel=0.02)
    assert projection.speedup.value == pytest.approx(projection.recorded_wall_ns / fixed, rel=0.02)
    assert projection.saved_ns == projection.recorded_wall_ns - projection.wall_ns
    assert any("359 synchronising calls vanish" in line for line in projection.assumptions)


def test_the_straggler_repaired() -> None:
    projection = assert_right(example("straggler"), ScaledHost(2, 0.25), sim.ScaledCpu(2, 0.25), MI300X)
    assert projection.saved_ns == pytest.approx(20 * 600_000, rel=0.01)


def test_slivers_fused() -> None:
    workload, keys = example("slivers"), ("pow", "mul", "add", "mul", "tanh", "mul")
    apart = sum(MI300X.kernel_ns(workload.kernels[key]) for key in keys)
    together = sim.Fused(keys).apply(workload, MI300X)
    whole = MI300X.kernel_ns(next(k for k in together.kernels.values() if k.name.startswith("fused_")))
    names = tuple(workload.kernels[key].name for key in keys)
    assert_right(workload, Fused(names, whole / apart), sim.Fused(keys), MI300X)


LOOPS = [
    '{launch = "big"}, {sync = "stream"}',
    '{launch = "small"}, {launch = "small"}, {sync = "device"}',
    '{cpu = "x", us = 30}, {launch = "small"}, {launch = "big"}, {sync = "stream"}',
    '{launch = "small"}, {launch = "small"}, {launch = "small"}, {cpu = "x", us = 2000}',
    '{launch = "big"}, {copy = "D2H", bytes = 20000000, blocking = true}',
    '{launch = "small"}, {launch = "small", stream = "s"}, {cpu = "x", us = 5}, {sync = "device"}',
]
# A copy and a queue gap before the loop: costs that a recording shows only where they occur.
BEFORE = '{copy = "H2D", bytes = 64000000}, {launch = "big"}, {launch = "big"}'


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("times", [3, 40])
@pytest.mark.parametrize("change", PAIRS)
@pytest.mark.whole
def test_loops(loop: str, times: int, change: str) -> None:
    workload = steps(f'{BEFORE}, {{repeat = {times}, steps = [{loop}]}}, {{sync = "device"}}')
    assert_right(workload, *PAIRS[change])


def test_a_gap_that_was_never_seen_is_assumed_aloud() -> None:
    workload = steps('{repeat = 40, steps = [{launch = "small"}, {sync = "stream"}]}')
    projection = assert_right(workload, SyncsRemoved(), sim.SyncsHoisted())
    assert any("queue gap, kernel: 1.50 us, assumed" in line for line in projection.assumptions)


def test_recorded_graph_launches_say_what_one_costs() -> None:
    text = KERNELS + '[graph.g]\nsteps = [{launch = "small"}, {launch = "small"}]\n'
    loop = '{repeat = 30, steps = [{launch = "small"}, {launch = "big"}, {cpu = "x", us = 2000}]}'
    workload = parse_workload(text + thread('{graph = "g"}, {sync = "device"}, ' + loop))
    projection = assert_right(workload, Captured(), sim.Captured())
    assert any("of 12.0 us each, with gaps of 400 ns" in line for line in projection.assumptions)


def test_without_a_recorded_graph_its_cost_is_assumed_aloud() -> None:
    projection = whatif(graph_of(example("slivers")), Captured())
    assert any("1.30 us per node (assumed)" in line for line in projection.assumptions)
    assert projection.wall_ns == pytest.approx(
        sim.wall_if(example("slivers"), MI300X, sim.Captured()), rel=0.15
    )


def test_a_step_becomes_one_graph_though_its_layers_have_ranges_of_their_own() -> None:
    layer = '{push = "layer"}, {launch = "small"}, {launch = "big"}, {pop = true}'
    step = f'{{push = "step"}}, {layer}, {layer}, {layer}, {{pop = true}}, {{cpu = "x", us = 5}}'
    projection = whatif(graph_of(steps(f"{{repeat = 20, steps = [{step}]}}")), Captured())
    assert any(line.startswith("120 launches become 20 graph launches") for line in projection.assumptions)


def test_a_loop_between_other_launches_is_captured() -> None:
    body = ", ".join(f'{{launch = "{name}"}}' for name in ("small", "big", "big"))
    once = '{launch = "big"}, {launch = "small"}, {launch = "small"}'
    workload = steps(f'{once}, {{repeat = 20, steps = [{body}]}}, {once}, {{sync = "device"}}')
    projection = whatif(graph_of(workload), Captured())
    assert any("60 launches become 20 graph launches" in line for line in projection.assumptions)


def test_a_launch_that_comes_once_is_not_captured() -> None:
    workload = steps('{launch = "big"}, {launch = "small"}, {sync = "device"}')
    assert whatif(graph_of(workload), Captured()).saved_ns == 0


def test_timed_kernels_fuse_to_the_sum_of_their_times() -> None:
    workload = steps('{repeat = 20, steps = [{launch = "big"}, {launch = "small"}]}, {sync = "device"}')
    assert_right(workload, Fused(("big", "small")), sim.Fused(("big", "small")))


def test_copies_beside_kernels() -> None:
    kernels, copy = '{launch = "big"}, {launch = "big"}', '{copy = "D2H", bytes = 1000000'
    now = steps(f'{{repeat = 20, steps = [{kernels}, {copy}}}]}}, {{sync = "device"}}')
    event = '{record = "e"}, {wait = "e", stream = "s"}'
    side = steps(
        f'{{repeat = 20, steps = [{kernels}, {event}, {copy}, stream = "s"}}]}}, {{sync = "device"}}'
    )
    projection = whatif(graph_of(now, STEADY), CopiesAsync(overlapped=True))
    assert projection.wall_ns == pytest.approx(simulate(side, STEADY).wall_ns, rel=0.02)


def test_copies_on_the_gpu_are_work_and_stay_where_they_are() -> None:
    step = '{launch = "big"}, {copy = "D2D", bytes = 100000000}, {copy = "H2D", bytes = 1000000}'
    now = steps(f'{{repeat = 20, steps = [{step}]}}, {{sync = "device"}}')
    graph = graph_of(now, STEADY)
    crossing = graph.nodes.filter((pl.col("kind") == "copy") & (pl.col("name") == "H2D"))
    saved_ns = whatif(graph, CopiesAsync(overlapped=True)).saved_ns
    assert saved_ns == pytest.approx(crossing["duration_ns"].sum(), rel=0.2)


def test_a_given_rate_is_the_rate_of_the_copies() -> None:
    workload = steps(
        '{copy = "H2D", bytes = 8}, {copy = "H2D", bytes = 55000000, pinned = false}, {sync = "device"}'
    )
    assert_right(workload, CopiesAsync(gbps=55.0), sim.AsyncCopies())
    assert any(
        "55.0 GB/s, as given" in line
        for line in whatif(graph_of(workload), CopiesAsync(gbps=55.0)).assumptions
    )


def test_copies_without_a_better_rate_take_as_long() -> None:
    graph = graph_of(steps('{copy = "H2D", bytes = 5500000, pinned = false}, {launch = "big"}'))
    assert any("as long as recorded" in line for line in whatif(graph, CopiesAsync()).assumptions)


@pytest.mark.parametrize(
    "change", [FasterKernels("bug", 2), FasterKernels("big", 0), Fused(("small", "big")), ScaledHost(9, 0.5)]
)
def test_a_change_of_nothing_is_refused(change: Change) -> None:
    with pytest.raises(UsageError):
        whatif(graph_of(steps('{launch = "big"}, {launch = "small"}')), change)


def test_changes_add_up() -> None:
    graph = graph_of(example("sync_in_loop"))
    both = whatif(graph, SyncsRemoved(), CAPTURED)
    assert both.wall_ns < whatif(graph, SyncsRemoved()).wall_ns
    true = sim.wall_if(example("sync_in_loop"), MI300X, sim.SyncsHoisted(), sim.Captured())
    assert both.wall_ns == pytest.approx(true, rel=0.02)
    assert both.change == "synchronisations hoisted, repeated launches captured into graphs"


def test_a_projection_is_json_and_back() -> None:
    projection = whatif(graph_of(steps('{launch = "big"}')), FasterKernels("big", 2))
    assert msgspec.json.decode(msgspec.json.encode(projection), type=Projection) == projection


def test_nothing_recorded_has_no_speedup() -> None:
    assert whatif(build(Trace({}))).speedup.unavailable == "nothing with a length was recorded"


@given(workloads())
def test_no_change_is_no_change(workload: Workload) -> None:
    graph = build(recorded(workload))
    projection = whatif(graph)
    assert projection.wall_ns == graph.wall_ns
    assert projection.assumptions == ()


@given(workloads())
def test_removing_waits_never_takes_longer(workload: Workload) -> None:
    graph = build(recorded(workload))
    for change in (SyncsRemoved(), SyncsNarrowed(), CopiesAsync(), CopiesAsync(overlapped=True)):
        assert whatif(graph, change).wall_ns <= graph.wall_ns


@pytest.mark.parametrize("direction", ["H2D", "D2H"])
def test_copies_that_take_longer_than_the_kernels_cannot_be_hidden_behind_them(direction: str) -> None:
    """A step of a kernel and a copy that takes longer, waited for: overlapped, the copies alone set the pace."""
    copy = f'{{copy = "{direction}", bytes = 50000000}}'
    now = steps(f'{{repeat = 20, steps = [{{launch = "big"}}, {copy}, {{sync = "stream"}}]}}')
    graph = graph_of(now, STEADY)
    copies = int(graph.nodes.filter(pl.col("name").cast(pl.String) == direction)["duration_ns"].sum())
    kernels = int(graph.nodes.filter(pl.col("kind") == "kernel")["duration_ns"].sum())
    assert copies > 2 * kernels
    beside = whatif(graph, CopiesAsync(overlapped=True))
    assert copies <= beside.wall_ns < copies + kernels
