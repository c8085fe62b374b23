"""What launching costs."""

from __future__ import annotations

import pytest
from hypothesis import given

from rocm_perf.analysis.idle.launches import launch_findings, launches
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.record import record
from rocm_perf.sim.steps import Workload
from tests.sim.strategies import workloads
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.sim.runs import MI300X, run_steps


def test_call_time_and_delay_of_each_kernel() -> None:
    result = launches(
        trace(
            dispatches=[
                kernel("a", 30, 40, correlation_id=1),
                kernel("a", 50, 60, correlation_id=2),
                kernel("b", 60, 70, correlation_id=3),
                kernel("lost", 70, 80, correlation_id=9),
            ],
            api_calls=[
                call("hipLaunchKernel", 0, 10, 1),
                call("hipLaunchKernel", 10, 14, 2),
                call("hipLaunchKernel", 55, 65, 3),
            ],
        )
    )
    a, b = sorted(result.kernels, key=lambda row: row.kernel)
    assert (a.dispatches, a.calls, a.call_median_ns, a.call_total_ns) == (2, 2, 7, 14)
    assert (a.delay_median_ns, a.delay_p95_ns, a.delay_total_ns, a.began_early) == (28, 36, 56, 0)
    assert (b.delay_median_ns, b.delay_total_ns, b.began_early) == (-5, 0, 1)
    assert result.not_paired == 1


def test_one_graph_launch_starts_many_kernels_and_counts_once() -> None:
    kernels = [kernel("k", 10 * i, 10 * i + 9, correlation_id=1) for i in range(1, 6)]
    result = launches(trace(dispatches=kernels, api_calls=[call("hipGraphLaunch", 0, 7, 1)]))
    assert result.graphs is not None
    assert (result.graphs.calls, result.graphs.dispatches, result.graphs.call_total_ns) == (1, 5, 7)
    (row,) = result.kernels
    assert (row.dispatches, row.calls, row.call_total_ns) == (5, 1, 7)


def test_functions_by_total_with_their_share_of_the_wall() -> None:
    calls = [
        call("hipMalloc", 0, 30, tid=1),
        call("hipMalloc", 20, 40, tid=2),
        call("hipFree", 90, 100, tid=1),
    ]
    first, second = launches(trace(api_calls=calls)).functions
    assert (first.name, first.calls, first.total_ns, first.mean_ns, first.union_ns) == (
        "hipMalloc",
        2,
        50,
        25,
        40,
    )
    assert (first.share.value, second.share.value) == (0.4, 0.1)


def test_latency_is_that_of_launches_into_an_idle_gpu() -> None:
    run = run_steps(
        '{launch = "big"}, {sync = "device"}, {launch = "big"}, {launch = "big"}, {launch = "big"}'
    )
    assert launches(record(run)).latency_ns == MI300X.cost_ns("launch_latency")


@given(workloads())
def test_every_kernel_of_the_simulator_is_paired(workload: Workload) -> None:
    run = simulate(workload, MI300X)
    result = launches(record(run))
    assert result.not_paired == 0
    kernels = [item for item in run.items if item.kind in ("kernel", "collective")]
    assert sum(row.dispatches for row in result.kernels) == len(kernels)
    assert sum(row.delay_total_ns for row in result.kernels) == sum(i.start - i.call.issued for i in kernels)
    assert all(0 <= (row.share.value or 0) <= 1 for row in result.functions)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ({}, "the recording holds no kernels with times"),
        ({"dispatches": [kernel("a", 0, 1)]}, "no API calls were recorded"),
        (
            {"dispatches": [kernel("a", 0, 1)], "api_calls": [call("hipLaunchKernel", 0, 1, 1)]},
            "this recording does not say which call launched a kernel",
        ),
    ],
)
def test_why_there_is_no_answer(tables: dict[str, list[object]], why: str) -> None:
    assert launches(trace(**tables)).unavailable == why  # type: ignore[arg-type]


def test_launches_that_take_longer_than_the_kernels() -> None:
    apart = [kernel("a", 30, 35, correlation_id=1), kernel("a", 43, 48, correlation_id=2)]
    calls = [call("hipLaunchKernel", 0, 10, 1), call("hipLaunchKernel", 20, 22, 2)]
    recording = trace(dispatches=apart, api_calls=calls)
    (finding,) = launch_findings(document(recording))
    assert finding.time_at_stake_ns == 8  # never more than idle
    at_once = [kernel("a", 30, 35, correlation_id=1), kernel("a", 35, 40, correlation_id=2)]
    assert (
        launch_findings(document(trace(dispatches=at_once, api_calls=calls))) == []
    )  # hidden behind kernels
    longer = [kernel("a", 30, 1000, correlation_id=1), kernel("a", 1008, 1013, correlation_id=2)]
    assert launch_findings(document(trace(dispatches=longer, api_calls=calls))) == []


def test_a_graph_launch_counts_once_however_many_kernels_it_starts() -> None:
    kernels = [kernel(name, 30 + 10 * i, 40 + 10 * i, correlation_id=1) for i, name in enumerate("abc")]
    result = launches(trace(dispatches=kernels, api_calls=[call("hipGraphLaunch", 0, 20, 1)]))
    assert (result.calls, result.call_ns) == (1, 20)
