"""Host copies in steady state."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from rocm_perf.analysis.idle.copies import copy_findings, steady_copies
from rocm_perf.analysis.ledger.entries import ledger
from rocm_perf.model.trace import Trace
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded
from tests.unit.analysis.documents import document
from tests.unit.analysis.time.test_steps import EXAMPLES, mark
from tests.unit.analysis.traces import Row, call, kernel, trace

STEPS = 6


def copy(step: int, **more: object) -> Row:
    base = {
        "kind": "D2H",
        "start_ns": 100 * step + 60,
        "end_ns": 100 * step + 80,
        "agent_id": 0,
        "size_bytes": 40,
    }
    return {**base, "correlation_id": 50 + step, **more}


def looped(call_name: str, returns: int, ops: Sequence[Row] = ()) -> Trace:
    numbers = range(STEPS)
    tables: dict[str, Sequence[Row]] = {
        "dispatches": [kernel("k", 100 * i + 10, 100 * i + 50, correlation_id=i) for i in numbers],
        "copies": [copy(i) for i in numbers],
        "api_calls": [
            *(call("hipLaunchKernel", 100 * i + 1, 100 * i + 5, i) for i in numbers),
            *(call(call_name, 100 * i + 52, 100 * i + returns, 50 + i, op_id=7) for i in numbers),
        ],
        "ranges": [mark("step", 100 * i, 100 * i + 100) for i in numbers],
    }
    return trace((), (), **(tables | {"ops": ops} if ops else tables))


def test_the_example_with_a_copy_in_its_loop() -> None:
    recording = recorded(read_workload(EXAMPLES / "copy_in_loop.toml"))
    result = steady_copies(recording)
    (row,) = result.rows
    assert (row.kind, row.copies, row.per_step, row.call, row.call_site) == (
        "D2H",
        29,
        1,
        "hipMemcpy",
        "step",
    )
    assert row.memory == "blocking call"
    assert row.size_bytes == 29 * 8_388_608
    assert row.bandwidth.value == pytest.approx(12, rel=0.02)  # GB/s of the simulated staging
    (finding,) = copy_findings(document(recording))
    assert finding.time_at_stake_ns == row.total_ns


@pytest.mark.parametrize(("every", "when"), [(1, "in every step"), (5, "in one step of 5")])
def test_how_often_it_is(every: int, when: str) -> None:
    """Ten copies in a step, or in one of five: more than one a step on average."""
    steps = range(50)
    recording = trace(
        dispatches=[kernel("k", 100 * i + 10, 100 * i + 50, correlation_id=i) for i in steps],
        copies=[
            copy(i, start_ns=100 * i + 60 + n, end_ns=100 * i + 61 + n, correlation_id=1000 + 10 * i + n)
            for i in steps[::every]
            for n in range(10)
        ],
        ranges=[mark("step", 100 * i, 100 * i + 100) for i in steps],
    )
    (finding,) = copy_findings(document(recording))
    assert finding.title == f"Data crosses between host and GPU {when}"


@pytest.mark.parametrize(
    ("name", "returns", "memory"),
    [
        ("hipMemcpy", 85, "blocking call"),
        ("hipMemcpyWithStream", 85, "blocking call"),
        ("hipMemcpyAsync", 85, "pageable"),
        ("hipMemcpyAsync", 55, "asynchronous"),
    ],
)
def test_what_is_known_of_the_memory(name: str, returns: int, memory: str) -> None:
    (row,) = steady_copies(looped(name, returns)).rows
    assert (row.memory, row.copies) == (memory, STEPS - 1)


def test_what_the_recorder_says_of_the_memory_counts_first() -> None:
    recording = looped("hipMemcpyAsync", 85)
    tables = {name: recording.table(name) for name in recording}
    tables["copies"] = tables["copies"].with_columns(host_memory=pl.lit("pinned"))
    (row,) = steady_copies(Trace(tables)).rows
    assert row.memory == "pinned"


def test_the_operator_is_the_call_site_where_it_is_recorded() -> None:
    operators = [{"name": "aten::item", "category": "operator", "op_id": 7, "start_ns": 0, "end_ns": 900}]
    (row,) = steady_copies(looped("hipMemcpyAsync", 55, ops=operators)).rows
    assert row.call_site == "aten::item"


def test_the_innermost_python_function_otherwise() -> None:
    frames = [
        {"name": name, "category": "python", "start_ns": start, "end_ns": end}
        for name, start, end in [("main", 0, 990), ("train", 1, 980), ("done", 2, 51), ("log", 140, 970)]
    ]
    rows = steady_copies(looped("hipMemcpyAsync", 55, ops=frames)).rows
    assert {(row.call_site, row.copies) for row in rows} == {("log", STEPS - 1)}


def test_copies_before_the_steady_state_and_on_the_gpu_do_not_count() -> None:
    recording = trace(
        dispatches=[kernel("k", 100 * i + 10, 100 * i + 50) for i in range(STEPS)],
        copies=[copy(0), copy(3, kind="D2D")],
        ranges=[mark("step", 100 * i, 100 * i + 100) for i in range(STEPS)],
    )
    result = steady_copies(recording)
    assert (result.rows, result.copies) == ((), 0)
    assert copy_findings(document(recording)) == []


def test_unknown_sizes_and_calls_are_said_to_be() -> None:
    recording = trace(
        dispatches=[kernel("k", 100 * i + 10, 100 * i + 50) for i in range(STEPS)],
        copies=[copy(i, size_bytes=None, correlation_id=None) for i in range(STEPS)],
        ranges=[mark("step", 100 * i, 100 * i + 100) for i in range(STEPS)],
    )
    (row,) = steady_copies(recording).rows
    assert (row.size_bytes, row.call, row.memory, row.bandwidth.known) == (None, "", "unknown", False)


def test_without_steps_there_is_no_steady_state() -> None:
    assert steady_copies(trace(dispatches=[kernel("k", 0, 1)], copies=[copy(0)])).unavailable


def test_exposed_are_copies_to_and_from_the_host_beside_which_the_gpu_does_nothing_else() -> None:
    beside_a_kernel = copy(0, kind="H2D", start_ns=0, end_ns=100)
    beside_another_copy = [
        copy(1, kind="D2D", start_ns=200, end_ns=300),
        copy(2, start_ns=250, end_ns=320),
        copy(3, kind="H2D", start_ns=300, end_ns=330),
    ]
    recording = trace(dispatches=[kernel("k", 40, 90)], copies=[beside_a_kernel, *beside_another_copy])
    assert ledger(recording).total_ns("copying-to-gpu", "copying-to-host", "copying") == 50 + 30
    assert ledger(trace(dispatches=[kernel("k", 40, 90)])).total_ns("copying-to-gpu", "copying-to-host") == 0
