"""Kernels that communicate become collectives, with what calls, ranges and logs say of them."""

from __future__ import annotations

from typing import Any

from rocm_perf.ingest.collectives.kernels import with_collectives
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

GENERIC = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"


def launched(number: int, name: str = GENERIC) -> Row:
    """A kernel that starts at 1000 times its number, and the call that launched it."""
    return kernel(name, 1000 * number, 1000 * number + 500, correlation_id=number, pid=7)


def launch(number: int, at: int) -> Row:
    return call("hipLaunchKernel", at, at + 2, number, pid=7, tid=1)


def rccl(name: str, start: int, end: int, number: int | None = None) -> Row:
    return call(name, start, end, number, domain="rccl", pid=7, tid=1)


def collectives(recording: Trace) -> list[dict[str, Any]]:
    tables = with_collectives({name: recording.table(name) for name in recording})
    return tables["collectives"].to_dicts() if "collectives" in tables else []


def test_a_kernel_whose_name_says_it() -> None:
    (row,) = collectives(trace(dispatches=[launched(1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")]))
    assert (row["name"], row["dtype"], row["algorithm"]) == ("all_reduce", "f32", "RING_LL")
    assert (row["start_ns"], row["end_ns"], row["pid"], row["agent_id"]) == (1000, 1500, 7, 0)


def test_kernels_that_do_not_communicate_are_none() -> None:
    assert collectives(trace(dispatches=[launched(1, "gemm")])) == []


def test_the_call_of_rccl_in_which_it_was_launched() -> None:
    calls = [rccl("ncclAllReduce", 10, 20), launch(1, 15), rccl("ncclCommCount", 30, 40), launch(2, 35)]
    first, second = collectives(trace(dispatches=[launched(1), launched(2)], api_calls=calls))
    assert (first["name"], second["name"]) == ("all_reduce", "unknown")


def test_a_group_launches_when_it_ends() -> None:
    calls = [
        rccl("ncclGroupStart", 0, 1),
        rccl("ncclReduceScatter", 2, 3),
        rccl("ncclGroupEnd", 4, 20),
        launch(1, 10),
        rccl("ncclGroupStart", 30, 31),
        rccl("ncclSend", 32, 33),
        rccl("ncclRecv", 34, 35),
        rccl("ncclGroupEnd", 36, 50),
        launch(2, 40),
    ]
    rows = collectives(trace(dispatches=[launched(1), launched(2)], api_calls=calls))
    assert [row["name"] for row in rows] == ["reduce_scatter", "send_recv"]


def test_a_recording_that_begins_within_a_group() -> None:
    calls = [
        rccl("ncclGroupEnd", 0, 5),
        rccl("ncclGroupStart", 10, 11),
        rccl("ncclGroupStart", 12, 13),  # groups may be nested: the outermost launches
        rccl("ncclAllGather", 14, 15),
        rccl("ncclGroupEnd", 16, 17),
        rccl("ncclGroupEnd", 18, 40),
        launch(1, 30),
    ]
    (row,) = collectives(trace(dispatches=[launched(1)], api_calls=calls))
    assert row["name"] == "all_gather"


def test_a_kernel_that_carries_the_number_of_the_rccl_call() -> None:
    """Where the calls of HIP are not traced."""
    (row,) = collectives(trace(dispatches=[launched(1)], api_calls=[rccl("ncclBroadcast", 10, 20, 1)]))
    assert row["name"] == "broadcast"


def test_a_range_that_nccl_opens() -> None:
    ranges = [marked("ncclAllGather", 10, 20, pid=7, tid=1), marked("step", 14, 30, pid=7, tid=1)]
    (row,) = collectives(trace(dispatches=[launched(1)], api_calls=[launch(1, 15)], ranges=ranges))
    assert row["name"] == "all_gather"


def test_what_a_call_was_asked_to_send() -> None:
    asked: Row = {
        "name": "nccl:send 0->1",
        "size_bytes": 64,
        "dtype": "bfloat16",
        "peer": 1,
        "start_ns": 10,
        "end_ns": 20,
        "pid": 7,
        "tid": 1,
    }
    (row,) = collectives(
        trace(
            dispatches=[launched(1, "ncclDevKernel_SendRecv(x)")],
            api_calls=[launch(1, 15)],
            collective_calls=[asked],
        )
    )
    assert (row["name"], row["size_bytes"], row["dtype"], row["peer"]) == ("send", 64, "bfloat16", 1)


def test_the_size_of_a_call_that_launches_two_kernels_belongs_to_neither() -> None:
    asked: Row = {"name": "all_reduce", "size_bytes": 64, "start_ns": 10, "end_ns": 20, "pid": 7, "tid": 1}
    calls = [launch(1, 12), launch(2, 15)]
    rows = collectives(
        trace(dispatches=[launched(1), launched(2)], api_calls=calls, collective_calls=[asked])
    )
    assert [(row["name"], row["size_bytes"]) for row in rows] == [("all_reduce", None)] * 2


def test_what_the_recorder_describes_is_kept_and_its_kernel_adds_the_algorithm() -> None:
    described: Row = {
        "name": "allreduce",
        "size_bytes": 8,
        "dtype": "Float",
        "pid": 7,
        "agent_id": 0,
        "start_ns": 1000,
        "end_ns": 1500,
    }
    (row,) = collectives(
        trace(dispatches=[launched(1, "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(x)")], collectives=[described])
    )
    assert (row["name"], row["size_bytes"], row["dtype"]) == ("all_reduce", 8, "Float")
    assert row["algorithm"] == "TREE_LL"


def test_the_log_of_the_library_tells_sizes_that_are_all_alike() -> None:
    logged: list[Row] = [
        {"name": "all_reduce", "size_bytes": 64, "group_size": 8, "dtype": "float32", "pid": 7},
        {"name": "all_reduce", "size_bytes": 64, "group_size": 8, "dtype": "float32", "pid": 7},
        {"name": "broadcast", "size_bytes": 1, "pid": 8},
    ]
    kernels = [launched(1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")]
    row, other = collectives(trace(dispatches=kernels, collectives=logged))
    assert (row["size_bytes"], row["group_size"], row["start_ns"]) == (64, 8, 1000)
    assert (other["name"], other["start_ns"]) == ("broadcast", None)  # of a process without kernels
