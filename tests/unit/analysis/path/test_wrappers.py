"""Host time that goes with a synchronising call."""

from __future__ import annotations

from rocm_perf.analysis.graph import build
from rocm_perf.analysis.path.changes import SyncsRemoved
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.path.wrappers import sync_wrappers
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, trace

US = 1000
STEP = 100  # us. 0 to 40: an operator that launches at 10; 50 to 60: the wait; 60 to 100: on to the next operator
STEPS = 6


def operator(start: int, end: int) -> Row:
    return {
        "name": "aten::add",
        "category": "operator",
        "start_ns": US * start,
        "end_ns": US * end,
        "pid": 1,
        "tid": 1,
    }


def looped(operator_end: int = 40) -> Trace:
    at = [STEP * i for i in range(STEPS)]
    return trace(
        dispatches=[
            kernel("k", US * (t + 25), US * (t + 30), correlation_id=i, pid=1) for i, t in enumerate(at)
        ],
        api_calls=[
            *(
                call("hipLaunchKernel", US * (t + 10), US * (t + 20), i, pid=1, tid=1)
                for i, t in enumerate(at)
            ),
            *(
                call("hipDeviceSynchronize", US * (t + 50), US * (t + 60), 100 + i, pid=1, tid=1)
                for i, t in enumerate(at)
            ),
        ],
        ops=[operator(t, t + operator_end) for t in at],
    )


def test_the_time_between_operators_around_the_call() -> None:
    recording = looped()
    wrappers = sync_wrappers(recording, build(recording))
    assert wrappers["before_ns"].to_list() == [10 * US] * STEPS
    assert wrappers["after_ns"].to_list() == [40 * US] * (STEPS - 1) + [0]  # no operator follows the last
    names = build(recording).nodes["name"].gather(wrappers["call"]).cast(str).unique().to_list()
    assert names == ["hipDeviceSynchronize"]


def test_a_call_inside_an_operator_has_no_wrapper() -> None:
    recording = looped(operator_end=70)
    assert sync_wrappers(recording, build(recording)).height == 0


def test_without_operators_nothing_is_taken_to_go_with_a_call() -> None:
    recording = trace(
        dispatches=[kernel("k", 25, 30, correlation_id=1)],
        api_calls=[call("hipLaunchKernel", 10, 20, 1), call("hipDeviceSynchronize", 50, 60, 2)],
    )
    assert sync_wrappers(recording, build(recording)).height == 0


def test_hoisting_takes_the_wrapper_with_it() -> None:
    recording = looped()
    graph = build(recording)
    kept, gone = whatif(graph, SyncsRemoved()), whatif(graph, SyncsRemoved(sync_wrappers(recording, graph)))
    assert kept.wall_ns - gone.wall_ns == (STEPS - 1) * 50 * US  # the last call stays, and what is around it
    assert "vanishes as well" in " ".join(gone.assumptions)
