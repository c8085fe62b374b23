"""Steps in synthetic histories: where there are none, and where it is known that there are."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from rocm_perf.statistics.steps import levels, step_places

Noise = Callable[[random.Random], float]


def normal(source: random.Random) -> float:
    return source.gauss(0, 0.01)


def disturbed(source: random.Random) -> float:
    """One run in ten is slowed down by other work, by half on average."""
    return source.gauss(0, 0.01) + (source.expovariate(2) if source.random() < 0.1 else 0)


def two_modes(source: random.Random) -> float:
    return source.gauss(0.0 if source.random() < 0.7 else 0.125, 0.002)


def history(seed: int, noise: Noise, *parts: tuple[int, float]) -> list[float]:
    """Runs around 10 ms; each part is a number of runs and how much slower they are."""
    source = random.Random(seed)
    return [10 * math.exp(shift + noise(source)) for count, shift in parts for _ in range(count)]


@pytest.mark.parametrize("noise", [normal, disturbed, two_modes])
@pytest.mark.parametrize(("runs", "seeds"), [(8, 500), (20, 500), (60, 150)])
def test_a_history_without_a_step_is_seldom_given_one(noise: Noise, runs: int, seeds: int) -> None:
    alarms = sum(bool(step_places(history(seed, noise, (runs, 0.0)))) for seed in range(seeds))
    assert alarms <= 0.02 * seeds


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [normal, disturbed, two_modes])
@pytest.mark.parametrize("runs", [12, 20, 50, 100])
def test_false_alarms_stay_near_one_percent(noise: Noise, runs: int) -> None:
    alarms = sum(bool(step_places(history(seed, noise, (runs, 0.0)))) for seed in range(2000))
    assert alarms <= 0.017 * 2000  # 1 % plus three standard deviations of chance


@pytest.mark.parametrize(("noise", "least"), [(normal, 95), (disturbed, 65)])
def test_a_step_of_five_percent_is_found_where_it_is(noise: Noise, least: int) -> None:
    places = [step_places(history(seed, noise, (15, 0.0), (10, 0.05))) for seed in range(100)]
    assert sum(len(one) == 1 and abs(one[0] - 15) <= 1 for one in places) >= least


def test_a_step_shows_after_five_runs() -> None:
    found = [step_places(history(seed, normal, (15, 0.0), (5, 0.1))) == [15] for seed in range(50)]
    assert all(found)


def test_one_slow_run_is_not_a_step() -> None:
    places = [step_places(history(seed, normal, (17, 0.0), (1, 0.5))) for seed in range(50)]
    assert not any(17 in one for one in places)


def test_up_and_down_again_are_two_steps() -> None:
    places = [step_places(history(seed, normal, (12, 0.0), (12, 0.1), (12, 0.0))) for seed in range(50)]
    assert sum(one == [12, 24] for one in places) >= 45


def test_a_large_step_does_not_hide_small_ones() -> None:
    parts = ((12, 0.0), (12, 0.05), (12, 2.0), (12, 2.05))
    places = [step_places(history(seed, normal, *parts)) for seed in range(50)]
    assert sum(one == [12, 24, 36] for one in places) >= 45


def test_the_unit_does_not_matter() -> None:
    values = history(1, normal, (10, 0.0), (10, 0.1))
    assert step_places(values) == step_places([1e6 * value for value in values]) == [10]


def test_series_that_have_no_step_to_find() -> None:
    assert not step_places([])
    assert not levels([])
    assert step_places([1.0]) == step_places([3.0] * 50) == []
    assert levels([3.0] * 5) == [(0, 5)]


def test_equal_values_before_and_after_a_step() -> None:
    assert levels([1.0] * 10 + [2.0] * 10) == [(0, 10), (10, 20)]
