"""What the profiler adds to launches is taken off before anything is timed again, and is nobody's gain."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.path.unprofiled import less_launch_cost
from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_US
from tests.unit.analysis.traces import call, kernel, trace, with_launch_cost

US = NS_PER_US
KERNELS, STEPS = 100, 20
STEP = 1310 * US  # a graph of a millisecond, which takes the host 300 us to launch, and a wait for it


def graph_steps() -> Trace:
    kernels, calls = [], []
    for step in range(STEPS):
        start = step * STEP
        calls.append(call("cudaGraphLaunch", start, start + 300 * US, step + 1, domain="cuda"))
        calls.append(
            call("cudaStreamSynchronize", start + 301 * US, start + STEP, 1000 + step, domain="cuda")
        )
        starts = [start + 300 * US + 10 * US * number for number in range(KERNELS)]
        kernels += [
            kernel(f"k{number % 7}", begun, begun + 10 * US - number, correlation_id=step + 1)
            for number, begun in enumerate(starts)
        ]
    return trace(dispatches=kernels, api_calls=calls)


@pytest.mark.parametrize(("graph_kernel_ns", "left_us"), [(0, 299), (2 * US, 101), (10 * US, 0)])
def test_a_graph_launch_is_shorter_by_each_of_its_kernels(graph_kernel_ns: int, left_us: int) -> None:
    graph = less_launch_cost(build(graph_steps()), US, graph_kernel_ns)
    launches = graph.nodes.filter(graph.nodes["name"].cast(str) == "cudaGraphLaunch")
    assert launches["duration_ns"].unique().to_list() == [left_us * US]
    assert graph.profiler_ns == pytest.approx(STEPS * (300 - left_us) * US, rel=0.06)


def test_time_that_the_profiler_takes_to_launch_a_graph_is_not_at_stake() -> None:
    assert _idle_at_stake(with_launch_cost(graph_steps(), US)) > 0.2 * STEPS * STEP
    assert not _idle_at_stake(with_launch_cost(graph_steps(), US, 2.9 * US))


def _idle_at_stake(recording: Trace) -> int:
    findings = overview(recording, "run").findings
    return sum(finding.time_at_stake_ns or 0 for finding in findings if finding.kind not in KERNEL_KINDS)
