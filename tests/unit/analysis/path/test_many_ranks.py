"""Paths and projections over several ranks, against the truth of the simulator."""

from __future__ import annotations

from collections import Counter

import pytest

from rocm_perf.analysis.graph import build
from rocm_perf.analysis.path.changes import Change
from rocm_perf.analysis.path.critical_path import critical_path
from rocm_perf.analysis.path.rank_changes import FasterLink, ScaledHost, ScaledKernels
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.errors import UsageError
from rocm_perf.sim import changes as sim
from rocm_perf.sim import truth
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.job_recordings import true_trace
from rocm_perf.sim.record import record
from rocm_perf.sim.steps import Workload
from rocm_perf.sim.workload import parse_workload
from tests.unit.sim.runs import KERNELS, STEADY, run_steps, thread

RANKS, LATE = 8, 5
# Gradients in two buckets, on a stream of their own while the next kernels run, then their norm.
STEP = """{{repeat = 6, steps = [{{cpu = "load", us = {load}}}, {{launch = "big"}}, {{record = "one"}},
  {{wait = "one", stream = "comm"}}, {{collective = "all_reduce", bytes = {size}, stream = "comm"}}, {{launch = "big"}},
  {{record = "two"}}, {{wait = "two", stream = "comm"}}, {{collective = "all_reduce", bytes = {size}, stream = "comm"}},
  {{collective = "all_reduce", bytes = 4, stream = "comm"}}, {{sync = "device"}}]}}"""


def job(*, load_us: float = 30, size: int = 400_000) -> Workload:
    """A job of equal ranks but one, whose host takes `load_us` to load."""
    threads = (
        thread(STEP.format(load=load_us if rank == LATE else 30, size=size).replace("\n", " "), rank)
        for rank in range(RANKS)
    )
    return parse_workload(KERNELS + "".join(threads))


SLOW = sim.ScaledRankKernels(LATE, 2.0)


@pytest.mark.parametrize(
    ("workload", "mine", "true"),
    [
        (job(load_us=120), ScaledHost(LATE, 0.25), sim.ScaledCpu(LATE, 0.25)),
        (job(load_us=120), ScaledHost(LATE, 2.0), sim.ScaledCpu(LATE, 2.0)),
        (SLOW.apply(job(), STEADY), ScaledKernels(LATE, 0.5), sim.ScaledRankKernels(LATE, 0.5)),
        (job(), ScaledKernels(LATE, 2.0), SLOW),
        (job(size=4_000_000), FasterLink(2.0), sim.FasterLink(2.0)),
        (job(size=4_000_000), FasterLink(8.0), sim.FasterLink(8.0)),
        (job(size=4_000_000), FasterLink(0.5), sim.FasterLink(0.5)),
    ],
)
def test_projections_are_true(workload: Workload, mine: Change, true: sim.Change) -> None:
    projection = whatif(build(record(simulate(workload, STEADY))), mine)
    expected = sim.wall_if(workload, STEADY, true)
    assert projection.wall_ns == pytest.approx(expected, rel=0.02)
    assert abs(projection.saved_ns) > 0.05 * projection.recorded_wall_ns


@pytest.mark.parametrize("workload", [job(load_us=120), SLOW.apply(job(), STEADY)])
def test_the_path_goes_where_the_late_rank_is(workload: Workload) -> None:
    run = simulate(workload, STEADY)
    on_ranks: Counter[str] = Counter()
    for link in truth.critical_path(run).links:
        on_ranks[f"rank {link.rank}"] += link.duration_ns
    path = critical_path(build(record(run)))
    assert max(path.by_rank, key=lambda name: path.by_rank[name]) == f"rank {LATE}"
    # A transfer belongs to all ranks: the two differ in whose they call it where ranks come together.
    assert path.by_rank[f"rank {LATE}"] == pytest.approx(on_ranks[f"rank {LATE}"], rel=0.1)
    assert sum(path.by_rank.values()) == path.total_ns


def test_ranks_of_several_nodes_meet_on_one_clock() -> None:
    run = simulate(job(load_us=120), STEADY)
    apart = whatif(build(true_trace(run, ranks_per_node=2)), ScaledHost(LATE, 0.25))
    together = whatif(build(record(run)), ScaledHost(LATE, 0.25))
    assert apart.wall_ns == together.wall_ns < 0.7 * apart.recorded_wall_ns


def test_a_rank_that_is_not_there_cannot_be_changed() -> None:
    graph = build(record(run_steps('{launch = "big"}')))
    for change in (ScaledKernels(3, 0.5), ScaledHost(3, 0.5), FasterLink(2.0)):
        with pytest.raises(UsageError):
            whatif(graph, change)
