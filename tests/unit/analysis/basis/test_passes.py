"""Which run of the application gives the times."""

from __future__ import annotations

from rocm_perf.analysis.basis.passes import kernel_pass, timed_dispatches, timed_pass
from rocm_perf.analysis.program.ranges import ranges
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, marked, trace


def test_the_first_pass_with_times_of_kernels() -> None:
    counted = {"kernel": "k", "pass_id": 1}
    recording = trace(
        dispatches=[counted, kernel("k", 0, 10, pass_id=3), kernel("k", 0, 5, pass_id=2)],
        api_calls=[call("hipMalloc", 0, 5, pass_id=1)],
    )
    assert kernel_pass(recording) == timed_pass(recording) == 2
    assert timed_dispatches(recording)["end_ns"].to_list() == [5]


def test_a_recording_without_kernels_shows_what_it_has() -> None:
    recording = trace(
        api_calls=[call("hipMalloc", 10, 40, pass_id=1)], ranges=[marked("load", 20, 60, pass_id=1)]
    )
    assert (kernel_pass(recording), timed_pass(recording)) == (None, 1)
    assert wall_ns(recording) == 50
    assert [row.path for row in ranges(recording).rows] == [("load",)]


def test_without_any_time_it_is_the_first() -> None:
    assert timed_pass(Trace({})) == 0
