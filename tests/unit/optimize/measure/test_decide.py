"""Whether measured times are a reason to accept a candidate."""

from __future__ import annotations

import random

import pytest

from rocm_perf.bench.ab_result import paired_difference
from rocm_perf.model.results.optimize import Speedup
from rocm_perf.optimize.measure.decide import gain_passage, program_passage
from rocm_perf.optimize.measure.replay_ab import noise_of, speedup_of

TRIALS = 400
PROCESSES, LAUNCHES = 6, 15


def speedup(value: float, low: float, high: float) -> Speedup:
    return Speedup(base_ns=100, new_ns=100 / value, value=value, interval=(low, high), how="")


@pytest.mark.parametrize(
    ("one", "min_gain", "noise", "passed"),
    [
        (speedup(1.05, 1.03, 1.07), 0.02, 0.0, True),
        (speedup(1.05, 1.01, 1.07), 0.02, 0.0, False),
        (speedup(1.05, 1.03, 1.07), 0.02, 0.04, False),  # it differs from itself by as much
        (speedup(0.95, 0.93, 0.97), 0.0, 0.0, False),
    ],
)
def test_the_lower_end_must_be_above_the_least_gain(
    one: Speedup, min_gain: float, noise: float, passed: bool
) -> None:
    assert gain_passage(one, min_gain, noise).passed is passed


def test_without_an_interval_nothing_is_accepted() -> None:
    alone = Speedup(base_ns=100, new_ns=50, value=2, interval=None, how="")
    assert not gain_passage(alone, 0.0).passed


def test_the_program_must_not_be_shown_to_be_slower() -> None:
    same, slower = speedup(1.0, 0.98, 1.02), speedup(0.9, 0.88, 0.92)
    assert program_passage(same).passed
    assert not program_passage(slower).passed
    passage = program_passage(same, slower)
    assert not passage.passed
    assert "slower by kernels" in passage.words


def series(source: random.Random, level: float) -> list[float]:
    """Launches of one process: 1 % of noise, and one in fifty disturbed by half."""
    return [level * source.gauss(1, 0.01) * (1.5 if source.random() < 0.02 else 1) for _ in range(LAUNCHES)]


def accepted_share(source: random.Random, speedup: float, apart: float) -> float:
    """How often a candidate is accepted at no least gain; processes differ by `apart`, and so does where code lies in
    one of them."""
    accepted = 0
    for _ in range(TRIALS):
        sides: tuple[list[list[float]], ...] = ([], [], [])
        for _ in range(PROCESSES):
            process = source.gauss(1000, 10)
            for side, factor in zip(sides, (1, 1 / speedup, 1), strict=True):
                side.append(series(source, process * factor * source.gauss(1, apart)))
        base, new, again = sides
        noise = noise_of(paired_difference(base, again))
        accepted += gain_passage(speedup_of(base, new, ""), 0.0, noise).passed
    return accepted / TRIALS


@pytest.mark.parametrize("apart", [0.0, 0.005])
def test_the_same_thing_is_seldom_accepted(apart: float) -> None:
    """At most 2.5 % of trials by the interval alone; twice the error of this count is 1.6 %."""
    assert accepted_share(random.Random(5), 1.0, apart) <= 0.025 + 0.016


def test_a_true_gain_of_three_percent_is_accepted() -> None:
    assert accepted_share(random.Random(6), 1.03, 0.002) >= 0.9
