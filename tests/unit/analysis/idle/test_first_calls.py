"""Calls that cost much once, told apart from those that cost it every time."""

from __future__ import annotations

from rocm_perf.analysis.idle.first_calls import startup_calls
from rocm_perf.model.results.first_calls import OneOffCall
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.traces import call, kernel, trace

MS, US = NS_PER_MS, NS_PER_US


def test_the_first_launch_loads_code() -> None:
    calls = [
        call("hipLaunchKernel", 0, 6 * MS),
        *(call("hipLaunchKernel", at * MS, at * MS + 5 * US) for at in range(7, 20)),
    ]
    (one,) = startup_calls(trace(api_calls=calls))
    assert one == OneOffCall(name="hipLaunchKernel", calls=1, total_ns=6 * MS, usual_ns=5 * US)


def test_a_function_that_is_always_slow_is_no_start_up() -> None:
    calls = [call("hipHostRegister", at * 10 * MS, at * 10 * MS + 6 * MS) for at in range(10)]
    assert startup_calls(trace(api_calls=calls)) == ()


def test_loading_is_one_off_however_often_it_comes() -> None:
    calls = [call("cuLibraryLoadData", at * 10 * MS, at * 10 * MS + 3 * MS) for at in range(10)]
    (one,) = startup_calls(trace(api_calls=calls))
    assert (one.calls, one.total_ns) == (10, 30 * MS)


def test_waiting_for_the_gpu_is_not_the_calls_own_time() -> None:
    calls = [
        call("hipLaunchKernel", 0, 5 * US, 1),
        call("hipMemcpyWithStream", 10 * US, 30 * MS, 2),
        call("hipDeviceSynchronize", 31 * MS, 90 * MS, 3),
    ]
    busy = [kernel("k", 8 * US, 30 * MS, correlation_id=1)]
    assert startup_calls(trace(api_calls=calls, dispatches=busy)) == ()


def test_one_graph_launch_in_a_window_of_one_step_is_not_the_first_of_all() -> None:
    assert startup_calls(trace(api_calls=[call("hipGraphLaunch", 0, 2 * MS)])) == ()


def test_calls_before_a_time() -> None:
    calls = [call("hipStreamCreate", 0, 300 * MS), call("hipModuleUnload", 900 * MS, 950 * MS)]
    recording = trace(api_calls=calls)
    assert [one.name for one in startup_calls(recording)] == ["hipStreamCreate", "hipModuleUnload"]
    assert [one.name for one in startup_calls(recording, 800 * MS)] == ["hipStreamCreate"]


def test_a_call_inside_another_counts_once() -> None:
    calls = [
        call("hipMemcpy", 0, 100 * MS, tid=1),
        call("hsa_queue_create", 10 * MS, 90 * MS, domain="hsa", tid=1),
    ]
    (one,) = startup_calls(trace(api_calls=calls))
    assert (one.name, one.total_ns) == ("hipMemcpy", 100 * MS)
