from __future__ import annotations

from rocm_perf.analysis.phases.focus import cut, focused, focused_rows
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


def test_operators_and_modules_of_the_launch_with_which_the_part_begins_stay() -> None:
    def op(name: str, start_ns: int, end_ns: int, category: str = "operator") -> dict[str, object]:
        return {
            "name": name,
            "category": category,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "pid": 1,
            "tid": 1,
        }

    ops = [
        op("over", 10, 80),
        op("aten::mm", 50, 120),
        op("main", 0, 900, "python"),
        op("nn.Module: Net_0", 5, 800, "python"),
        op("nn.Module: Block_0", 20, 85, "python"),
        op("aten::add", 150, 160),
    ]
    whole = trace(dispatches=[kernel("a", 100, 200)], ops=ops)
    rows = cut(whole, Span(90, 350)).table("ops").select("name", "start_ns", "end_ns").rows()
    assert rows == [("aten::mm", 90, 120), ("nn.Module: Net_0", 90, 800), ("aten::add", 150, 160)]


def test_rows_of_the_judged_part_are_found_in_the_whole_recording() -> None:
    kernels = [kernel("a", at, at + 900, correlation_id=at, pid=1) for at in (10_000, 11_000)]
    launch = call("hipLaunchKernel", 5_000, 5_100, 10_000, pid=1, tid=1)
    ops = [
        {"name": name, "category": "operator", "start_ns": start, "end_ns": start + 2_000, "pid": 1, "tid": 1}
        for name, start in (("before", 0), ("around", 4_000), ("later", 8_000))
    ]
    whole = trace(dispatches=kernels, api_calls=[launch], ops=ops)
    judged = focused(whole)
    assert judged is not whole
    names = whole.table("ops")["name"].gather(focused_rows(whole, "ops"))
    assert names.to_list() == judged.table("ops")["name"].to_list() == ["around", "later"]


def test_what_the_host_does_ends_with_a_part_that_gpu_work_follows() -> None:
    kernels = [kernel("a", 100, 200), kernel("b", 200, 350), kernel("c", 500, 600)]
    part = cut(trace(dispatches=kernels, ranges=[marked("within", 150, 400)]), Span(90, 350))
    assert part.table("ranges").select("start_ns", "end_ns").rows() == [(150, 350)]
