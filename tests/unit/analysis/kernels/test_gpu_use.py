"""Use of matrix units and occupancy over all kernels."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.kernels.gpu_use import gpu_use
from tests.unit.analysis.traces import kernel, trace


def test_shares_are_of_kernel_time() -> None:
    use = gpu_use(
        trace(
            dispatches=[
                kernel("volta_sgemm_64x64_nn", 0, 100, occupancy=20.0),
                kernel("nvjet_sm90_tst_64x8_64x16", 100, 350),
                kernel("volta_sgemm_64x64_nn", 350, 500, occupancy=40.0),
            ]
        )
    )
    assert use.matrix_share.value == 0.5
    assert {row.matrix_units: row.total_ns for row in use.kernels} == {False: 250, True: 250}
    (plain,) = [row for row in use.kernels if row.matrix_units is False]
    assert plain.occupancy.value == pytest.approx(0.32)
    assert use.occupancy.value == pytest.approx(0.32)  # the other kernel has none


def test_what_is_not_known_makes_the_share_doubtful() -> None:
    known, unknown = kernel("nvjet_sm90_tst_64x8_64x16", 0, 80), kernel("mine", 80, 100)
    doubtful = gpu_use(trace(dispatches=[known, unknown])).matrix_share
    assert (doubtful.value, doubtful.doubt) == (
        0.8,
        "at least: of kernels with 20.0 % of the time it is not known",
    )
    nothing = gpu_use(trace(dispatches=[unknown]))
    assert (nothing.matrix_share.value, nothing.kernels[0].matrix_units) == (None, None)


def test_a_counted_occupancy_comes_before_an_estimated_one() -> None:
    recording = trace(
        agents=[{"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "cu_count": 304}],
        dispatches=[kernel("mine", 0, 100, dispatch_id=1, occupancy=90.0)],
        counters=[{"dispatch_id": 1, "agent_id": 0, "counter": "OccupancyPercent", "value": 25.0}],
    )
    (row,) = gpu_use(recording).kernels
    assert row.occupancy.value == pytest.approx(0.25)
    assert "counters" in row.occupancy.formula


def test_a_recording_without_kernels_says_so() -> None:
    assert gpu_use(trace(ops=[{"name": "aten::mm", "category": "operator"}])).unavailable
