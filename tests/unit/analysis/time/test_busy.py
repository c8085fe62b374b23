"""Busy and idle time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.time.busy import device_times, queue_times, wall_ns
from tests.unit.analysis.basis.test_intervals import covered
from tests.unit.analysis.traces import call, kernel, trace


def test_overlapping_streams_count_once_for_the_gpu() -> None:
    recording = trace(dispatches=[kernel("a", 0, 10), kernel("b", 5, 20, stream_id=1), kernel("c", 30, 40)])
    (device,) = device_times(recording)
    assert (device.busy_ns, device.idle_ns, device.window_ns) == (30, 10, 40)
    assert device.busy.value == 0.75
    assert {queue.stream_id: queue.busy_ns for queue in queue_times(recording)} == {0: 20, 1: 15}


def test_copies_keep_a_gpu_busy_too() -> None:
    copy = {"kind": "H2D", "start_ns": 10, "end_ns": 30, "agent_id": 0}
    (device,) = device_times(trace(dispatches=[kernel("a", 0, 20)], copies=[copy]))
    assert (device.kernel_ns, device.copy_ns, device.busy_ns) == (20, 20, 30)


def test_nodes_have_clocks_of_their_own() -> None:
    recording = trace(dispatches=[kernel("a", 0, 10), kernel("a", 1_000_000, 1_000_020, node=1)])
    assert wall_ns(recording) == 20
    assert len(device_times(recording)) == 2


def test_wall_includes_the_host() -> None:
    assert wall_ns(trace(dispatches=[kernel("a", 50, 60)], api_calls=[call("hipInit", 0, 5)])) == 60
    assert wall_ns(trace()) is None


def test_a_window_without_length_has_no_share() -> None:
    (device,) = device_times(trace(dispatches=[kernel("a", 5, 5)]))
    assert device.busy.value is None
    assert device.busy.unavailable == "window_ns is zero"


SPANS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 15), st.integers(0, 2)), min_size=1, max_size=25
)


@given(SPANS)
def test_busy_and_idle_make_the_window(spans: list[tuple[int, int, int]]) -> None:
    recording = trace(
        dispatches=[kernel("k", start, start + length, stream_id=stream) for start, length, stream in spans]
    )
    for row in (*device_times(recording), *queue_times(recording)):
        assert row.busy_ns + row.idle_ns == row.window_ns
        assert row.idle_ns >= 0
    assert device_times(recording)[0].busy_ns == covered(
        [(start, start + length) for start, length, _ in spans]
    )


def test_gpus_carry_the_rank_that_used_them_where_several_are_recorded() -> None:
    """GPU 4 is of rank 0, GPU 5 of rank 1; both ranks used GPU 6."""
    used = [("a", 4, 0), ("b", 5, 1), ("c", 6, 0), ("d", 6, 1)]
    kernels = [kernel(name, 0, 10, agent_id=agent, rank=rank) for name, agent, rank in used]
    several = {
        row.agent_id: (row.name, row.number, row.rank) for row in device_times(trace(dispatches=kernels))
    }
    assert several == {
        4: ("GPU 4 (rank 0)", "GPU 4 (rank 0)", 0),
        5: ("GPU 5 (rank 1)", "GPU 5 (rank 1)", 1),
        6: ("GPU 6", "GPU 6", None),
    }
    (alone,) = device_times(trace(dispatches=kernels[:1]))
    assert (alone.name, alone.rank) == ("GPU 4", None)
