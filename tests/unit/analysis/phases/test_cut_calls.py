from __future__ import annotations

from rocm_perf.analysis.phases.focus import cut
from rocm_perf.model.time_window import Span
from tests.unit.analysis.traces import call, kernel, marked, trace


def test_a_call_that_waits_for_what_is_cut_off_ends_with_the_last_work_that_is_left() -> None:
    kernels = [kernel("a", 100, 200), kernel("b", 200, 350), kernel("c", 350, 900)]
    calls = [call("hipLaunchKernel", 90, 95), call("hipDeviceSynchronize", 120, 910)]
    part = cut(trace(dispatches=kernels, api_calls=calls), Span(80, 300))
    assert part.table("dispatches")["kernel"].to_list() == ["a", "b"]
    assert part.table("api_calls")["end_ns"].to_list() == [95, 350]


def test_a_range_that_holds_most_of_the_part_stays_and_others_do_not() -> None:
    kernels = [kernel("a", 100, 200), kernel("b", 200, 350)]
    ranges = [marked("step 7", 50, 340), marked("before", 60, 110), marked("within", 150, 400)]
    part = cut(trace(dispatches=kernels, ranges=ranges), Span(90, 350))
    rows = part.table("ranges").select("name", "start_ns", "end_ns").rows()
    assert rows == [("step 7", 90, 340), ("within", 150, 400)]
