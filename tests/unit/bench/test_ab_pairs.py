"""The difference between pairs of processes, on populations with known answers."""

from __future__ import annotations

import random
from math import exp

import pytest

from rocm_perf.bench.ab_result import paired_difference
from rocm_perf.statistics import difference
from tests.unit.statistics.populations import ALL, NESTED, Population, Process

pytestmark = pytest.mark.thorough  # a thousand trials each

TRIALS = 1_000
SHIFT = 0.03

each_population = pytest.mark.parametrize("population", ALL, ids=lambda one: one.name)


@pytest.mark.parametrize("count", [3, 6, 10])
@each_population
def test_the_same_thing_twice_is_rarely_called_different(population: Population, count: int) -> None:
    """At most 2.5 % on either side, so that "better" is wrong in far less than 5 %."""
    source = random.Random(16)
    verdicts = [
        paired_difference(population.processes(source, count), population.processes(source, count)).verdict
        for _ in range(TRIALS)
    ]
    for wrong in ("better", "worse"):
        assert verdicts.count(wrong) / TRIALS <= 0.025 + 0.015  # three standard errors


def disturbed(processes: list[Process], loads: list[list[float]]) -> list[Process]:
    """The same times on a machine whose load changes from lap to lap."""
    return [
        [time * exp(load) for time, load in zip(process, lap_loads, strict=True)]
        for process, lap_loads in zip(processes, loads, strict=True)
    ]


def test_what_meets_both_alike_hides_no_difference() -> None:
    """Where load moves both by far more than they differ, pairs show 3 %, and groups do not."""
    source = random.Random(17)
    shown = {"pairs": 0, "groups": 0}
    for _ in range(100):
        loads = [
            [pair + source.gauss(0, 0.05) for _ in range(15)]
            for pair in (source.gauss(0, 0.2) for _ in range(6))
        ]
        base = disturbed(NESTED.processes(source, 6), loads)
        new = disturbed(NESTED.processes(source, 6, -SHIFT), loads)
        shown["pairs"] += paired_difference(base, new).verdict == "better"
        shown["groups"] += difference(base, new).verdict == "better"
    assert shown["pairs"] >= 80
    assert shown["groups"] <= 10
