"""What the time of a step goes to: roles in their order, which sum up to the step."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from rocm_perf.analysis.phases.step_breakdown import WHOLE, step_breakdown
from rocm_perf.analysis.serving.steps import timed_steps
from rocm_perf.model.results.step_breakdown import StepRoles
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

HOST: dict[str, Any] = {"pid": 1, "tid": 1}
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def op(name: str, start: int, end: int) -> Row:
    return {"name": name, "category": "operator", "start_ns": start, "end_ns": end, **HOST}


def copied(kind: str, start: int, end: int) -> Row:
    return {"kind": kind, "start_ns": start, "end_ns": end, "agent_id": 0, "pid": 1}


def step() -> Trace:
    """Each role overlaps the one behind it in the list by half."""
    return trace(
        ranges=[marked("ProfilerStep#7", 0, 1000, **HOST), marked("nccl:all_reduce", 300, 350, **HOST),
                marked(LOADER, 450, 600, **HOST), marked("my range", 700, 900, **HOST)],
        api_calls=[call("hipLaunchKernel", 0, 5, 1, **HOST), call("hipStreamSynchronize", 400, 500, **HOST)],
        dispatches=[kernel("gemm", 10, 110, pid=1, correlation_id=1),
                    kernel("ncclDevKernel_Generic", 250, 400, pid=1, correlation_id=1)],
        copies=[copied("H2D", 60, 160), copied("MEMSET", 110, 260)],
        ops=[op("aten::mm", 0, 50), op("aten::mm", 550, 750)],
    )  # fmt: skip


def test_a_moment_counts_for_the_first_role_that_is_active() -> None:
    (row,) = step_breakdown(step()).steps
    assert (row.name, row.start_ns, row.end_ns) == ("ProfilerStep#7", 0, 1000)
    assert row.roles == StepRoles(
        kernel_ns=100,
        copy_ns=50,  # 110 to 160
        fill_ns=100,  # to 260, the half of it beside the copy
        communication_ns=140,  # to 400
        runtime_ns=5 + 100,
        data_loader_ns=100,  # 500 to 600
        host_ns=5 + 150 + 150,  # before the kernel, 600 to 900
        other_ns=100,
    )


def test_roles_sum_up_to_the_step_and_the_mean_is_that_of_the_steps() -> None:
    breakdown = step_breakdown(step())
    assert breakdown.mean is not None
    assert sum(astuple(breakdown.steps[0].roles)) == 1000 == breakdown.mean.total_ns


def test_a_step_lasts_until_its_work_is_done_and_the_next_begins_then() -> None:
    rows = [
        (0, 100, 50, 180),
        (100, 200, 180, 220),
        (200, 300, 290, 310),
    ]  # host start and end, GPU start and end
    recording = trace(
        ranges=[marked(f"ProfilerStep#{n}", row[0], row[1], **HOST) for n, row in enumerate(rows)],
        api_calls=[
            call("hipLaunchKernel", row[0] + 10, row[0] + 20, n, **HOST) for n, row in enumerate(rows)
        ],
        dispatches=[kernel("gemm", row[2], row[3], pid=1, correlation_id=n) for n, row in enumerate(rows)],
    )
    steps = step_breakdown(recording).steps
    assert [(row.start_ns, row.end_ns) for row in steps] == [(0, 180), (180, 220), (220, 310)]
    assert [row.roles.kernel_ns for row in steps] == [130, 40, 20]


def test_work_that_was_launched_before_the_first_step_is_not_part_of_it() -> None:
    recording = trace(
        ranges=[marked("ProfilerStep#1", 100, 200, **HOST)],
        api_calls=[call("hipLaunchKernel", 10, 20, 1, **HOST), call("hipLaunchKernel", 110, 120, 2, **HOST)],
        dispatches=[
            kernel("gemm", 30, 150, pid=1, correlation_id=1),
            kernel("unlaunched", 150, 160, pid=1),
            kernel("gemm", 165, 260, pid=1, correlation_id=2),
        ],
    )
    (row,) = step_breakdown(recording).steps
    assert (row.start_ns, row.end_ns, row.roles.kernel_ns) == (160, 260, 95)


def test_a_recording_without_steps_is_one() -> None:
    breakdown = step_breakdown(trace(ops=[op("aten::mm", 100, 150), op("aten::mm", 180, 200)]))
    assert breakdown.found_by == WHOLE
    (row,) = breakdown.steps
    assert (row.roles.host_ns, row.roles.other_ns) == (70, 30)


def test_a_step_of_a_recording_without_kernels() -> None:
    recording = trace(ranges=[marked("ProfilerStep#3", 0, 100, **HOST)], ops=[op("aten::mm", 20, 60)])
    (row,) = step_breakdown(recording).steps
    assert (row.name, row.roles.host_ns, row.roles.other_ns) == ("ProfilerStep#3", 40, 60)


def test_a_single_step_that_a_server_annotates() -> None:
    recording = trace(
        ranges=[marked("step[DECODE bs=32]", 100, 200, **HOST)],
        api_calls=[call("hipGraphLaunch", 110, 120, 1, **HOST), call("hipInit", 0, 90, **HOST)],
        dispatches=[kernel("gemm", 130, 190, pid=1, correlation_id=1)],
    )
    (row,) = step_breakdown(recording).steps
    assert (row.start_ns, row.end_ns, row.roles.kernel_ns, row.roles.runtime_ns) == (100, 200, 60, 10)


def test_kernels_alone_say_nothing_of_copies_and_of_the_host() -> None:
    (row,) = step_breakdown(trace(dispatches=[kernel("gemm", 0, 60), kernel("gemm", 80, 100)])).steps
    assert astuple(row.roles) == (80, None, None, 0, None, None, None, 20)


def test_calls_alone_are_a_step_and_nothing_is_none() -> None:
    (row,) = step_breakdown(trace(api_calls=[call("hipMalloc", 5, 9, **HOST)])).steps
    assert astuple(row.roles) == (None, None, None, None, 4, None, None, 0)  # what was not recorded is not 0
    assert step_breakdown(trace()).unavailable


def test_a_step_begins_and_ends_where_that_of_serving_does() -> None:
    """Its second kernel and the host wait 400 ms for work that is not in the recording."""
    ms = 1_000_000
    recording = trace(
        ranges=[marked("step[DECODE bs=32]", 0, 402 * ms, **HOST)],
        api_calls=[
            call("hipLaunchKernel", ms // 100, ms // 50, 1, **HOST),
            call("hipLaunchKernel", ms // 20, ms // 10, 2, **HOST),
            call("hipMemcpyWithStream", ms // 5, 401 * ms, 3, **HOST),
        ],
        dispatches=[
            kernel("first", ms // 40, ms // 30, pid=1, correlation_id=1),
            kernel("gemm", 400 * ms, 410 * ms, pid=1, correlation_id=2),
        ],
        copies=[{**copied("H2D", 410 * ms, 411 * ms), "correlation_id": 3}],
    )
    (row,) = step_breakdown(recording).steps
    (timed,) = timed_steps(recording).to_dicts()
    assert (row.start_ns, row.end_ns) == (timed["begin_ns"], timed["done_ns"]) == (400 * ms, 411 * ms)
    assert (row.roles.kernel_ns, row.roles.copy_ns, row.roles.runtime_ns) == (10 * ms, ms, 0)
