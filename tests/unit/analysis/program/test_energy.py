"""Energy from power readings, against integrals worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.program.energy import NO_POWER, SINGLE, energy
from rocm_perf.units import NS_PER_S
from tests.unit.analysis.traces import Row, kernel, trace


def power(seconds: float, watts: float, agent: int | None = 0, metric: str = "power_w") -> Row:
    return {
        "time_ns": round(seconds * NS_PER_S),
        "metric": metric,
        "value": watts,
        "agent_id": agent,
        "unit": "W",
    }


def ran(name: str, start: float, end: float, agent: int | None = 0) -> Row:
    return {**kernel(name, round(start * NS_PER_S), round(end * NS_PER_S)), "agent_id": agent}


def test_a_ramp_is_a_triangle() -> None:
    account = energy(trace(samples=[power(0, 0), power(2, 200), power(3, 200)], dispatches=[ran("k", 1, 3)]))
    (gpu,) = account.gpus
    assert gpu.energy.value == pytest.approx(400)
    assert gpu.mean_power.value == pytest.approx(400 / 3)
    assert [gpu.busy_j, gpu.idle_j] == pytest.approx([350, 50])
    (row,) = account.kernels
    assert [row.energy_j, row.mean_power_w] == pytest.approx([350, 175])


def test_a_thinned_row_is_its_mean_from_start_to_end() -> None:
    thinned = {
        **power(2, 100),
        "start_ns": 0,
        "end_ns": 4 * NS_PER_S,
        "lowest": 10.0,
        "highest": 700.0,
        "readings": 40,
    }
    clock = {**power(2, 1000, metric="clock_mhz"), "readings": 3}
    found = energy(
        trace(
            samples=[thinned, power(4, 300), power(5, 300), clock, power(5, 2000, metric="clock_mhz")],
            dispatches=[ran("k", 1, 5), ran("edge", 4, 4)],
        )
    )
    (gpu,) = found.gpus
    assert [gpu.energy.value, gpu.busy_j] == pytest.approx([4 * 100 + 300, 3 * 100 + 300])
    assert (gpu.peak_power_w, gpu.readings, gpu.window_ns) == (700, 42, 5 * NS_PER_S)
    assert gpu.mean_clock.value == pytest.approx(1250)
    assert "older readings are thinned to 4.00 s, of which each is taken as its mean" in found.limits


def test_a_single_thinned_row_is_enough() -> None:
    found = energy(trace(samples=[{**power(2, 100), "start_ns": 0, "end_ns": 4 * NS_PER_S, "readings": 0}]))
    (gpu,) = found.gpus
    assert gpu.energy.value == pytest.approx(400)
    assert (gpu.interval_ns, gpu.readings) == (4 * NS_PER_S, 1)


def test_kernels_side_by_side_share_and_do_not_add() -> None:
    account = energy(
        trace(
            samples=[power(0, 100), power(4, 100)],
            dispatches=[ran("a", 0, 2), ran("b", 0, 2), ran("b", 3, 4)],
        )
    )
    assert {row.kernel: row.energy_j for row in account.kernels} == {
        "a": pytest.approx(300 * 2 / 5),
        "b": pytest.approx(300 * 3 / 5),
    }
    assert account.gpus[0].busy_j == pytest.approx(300)


def test_what_lies_outside_the_readings_is_left_out() -> None:
    account = energy(
        trace(samples=[power(1, 100), power(2, 100)], dispatches=[ran("a", 0, 1.5), ran("b", 5, 6)])
    )
    assert {row.kernel: row.energy_j for row in account.kernels} == {"a": pytest.approx(50)}
    assert account.left_out == 1


def test_the_limits_are_stated() -> None:
    coarse = energy(trace(samples=[power(0, 100), power(0.1, 100)], dispatches=[ran("k", 0.01, 0.01001)]))
    assert "every 100 ms" in coarse.limits[0]
    assert "10.0 us" in coarse.limits[1]
    fine = energy(trace(samples=[power(0, 1), power(0.1, 1), power(9, 1)], dispatches=[ran("k", 0, 9)]))
    assert len(fine.limits) == 1


def test_gpus_that_the_sensor_counts_otherwise() -> None:
    agents: list[Row] = [
        {"agent_id": 2, "kind": "GPU", "logical_index": 0},
        {"agent_id": 3, "kind": "GPU", "logical_index": 1},
    ]
    samples = [power(0, 100, 0), power(1, 100, 0), power(0, 300, 1), power(1, 300, 1)]
    account = energy(trace(samples=samples, agents=agents, dispatches=[ran("k", 0, 1, agent=3)]))
    assert account.kernels[0].energy_j == pytest.approx(300)
    assert [gpu.kernels_of for gpu in account.gpus] == [None, 3]
    alone = energy(trace(samples=samples[:2], dispatches=[ran("k", 0, 1, agent=7)]))
    assert alone.kernels[0].energy_j == pytest.approx(100)


@pytest.mark.parametrize(("kernels_of", "sensor"), [(4, None), (None, None), (None, 3), (4, 3)])
def test_one_gpu_and_one_sensor_belong_together_whatever_their_numbers(
    kernels_of: int | None, sensor: int | None
) -> None:
    readings = [power(0, 100, sensor), power(2, 100, sensor)]
    account = energy(trace(samples=readings, dispatches=[ran("k", 0.5, 1.5, kernels_of)]))
    (row,) = account.kernels
    assert row.energy_j == pytest.approx(100)
    assert account.gpus[0].busy_j == pytest.approx(100)


def test_a_sensor_of_an_unknown_gpu_belongs_to_none_of_two() -> None:
    readings = [power(0, 100, None), power(2, 100, None)]
    account = energy(trace(samples=readings, dispatches=[ran("k", 0, 1, 4), ran("k", 0, 1, 5)]))
    assert account.kernels == ()
    assert account.gpus[0].energy.value == pytest.approx(200)


def test_steps_and_clocks() -> None:
    steps: list[Row] = [
        {"name": f"ProfilerStep#{i}", "source": "record_function", "start_ns": i * NS_PER_S,
         "end_ns": (i + 1) * NS_PER_S, "depth": 0}
        for i in range(3)
    ]  # fmt: skip
    samples = [
        power(0, 100),
        power(2, 300),
        power(0, 1000, metric="clock_mhz"),
        power(1, 2000, metric="clock_mhz"),
    ]
    account = energy(trace(samples=samples, ranges=steps))
    assert [step.energy_j for step in account.steps] == [pytest.approx(150), pytest.approx(250)]
    assert account.gpus[0].mean_clock.value == 1500
    assert "no kernel with times" in str(account.kernels_unavailable)


def test_what_is_missing_says_so() -> None:
    assert energy(trace(dispatches=[ran("k", 0, 1)])).unavailable == NO_POWER
    assert energy(trace(samples=[power(0, 100)])).unavailable == SINGLE
    elsewhere = energy(trace(samples=[power(0, 1), power(1, 1)], dispatches=[ran("k", 50, 60)]))
    assert "other clock" in str(elsewhere.kernels_unavailable)


@given(
    st.lists(st.integers(0, 500), min_size=2, max_size=8),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=8),
)
def test_kernels_never_use_more_than_the_gpu(readings: list[int], work: list[tuple[int, int]]) -> None:
    account = energy(
        trace(
            samples=[power(10 * i, watts) for i, watts in enumerate(readings)],
            dispatches=[ran(f"k{i % 2}", start, start + length) for i, (start, length) in enumerate(work)]
            or [ran("k", 0, 0)],
        )
    )
    (gpu,) = account.gpus
    trapezoid = sum(5 * (a + b) for a, b in pairwise(readings))
    assert gpu.energy.value == pytest.approx(trapezoid)
    assert sum(row.energy_j for row in account.kernels) == pytest.approx(gpu.busy_j, abs=1e-9)
    assert -1e-9 <= gpu.busy_j <= trapezoid + 1e-9


def test_families_sum_their_kernels() -> None:
    kernels = [ran("mul_mat_q", 0, 1), ran("Cijk_A", 1, 2), ran("scale_f32", 2, 3)]
    account = energy(trace(samples=[power(0, 100), power(4, 100)], dispatches=kernels))
    assert [(row.family, row.dispatches) for row in account.families] == [("gemm", 2), ("elementwise", 1)]
    assert [row.energy_j for row in account.families] == pytest.approx([200, 100])
