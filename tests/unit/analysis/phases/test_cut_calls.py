from __future__ import annotations

from rocm_perf.analysis.phases.focus import cut
from rocm_perf.model.time_window import Span
from tests.unit.analysis.traces import call, kernel, trace


def test_a_call_that_waits_for_what_is_cut_off_ends_with_the_last_work_that_is_left() -> None:
    kernels = [kernel("a", 100, 200), kernel("b", 200, 350), kernel("c", 350, 900)]
    calls = [call("hipLaunchKernel", 90, 95), call("hipDeviceSynchronize", 120, 910)]
    part = cut(trace(dispatches=kernels, api_calls=calls), Span(80, 300))
    assert part.table("dispatches")["kernel"].to_list() == ["a", "b"]
    assert part.table("api_calls")["end_ns"].to_list() == [95, 350]
