"""Intervals and verdicts on populations with known answers, a thousand trials each, with the naive method beside."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import log
from statistics import fmean, median

import pytest

from rocm_perf.bench.ab_result import paired_difference
from rocm_perf.statistics import Interval, difference, interval, series
from tests.unit.statistics.populations import (
    ALL,
    DISTURBED,
    NESTED,
    QUIET,
    SHAPES,
    TWO_MODES,
    Population,
    Process,
    with_drift,
)

pytestmark = pytest.mark.thorough  # a thousand trials each

TRIALS = 1_000
BY_CHANCE = 0.02  # three standard errors of a rate of 95 % over so many trials
SHIFT = 0.03

each_population = pytest.mark.parametrize("population", ALL, ids=lambda one: one.name)
few_and_more = pytest.mark.parametrize("count", [3, 5, 10])


@few_and_more
@each_population
def test_the_interval_holds_the_median_process_as_often_as_it_says(
    population: Population, count: int
) -> None:
    source, truth = random.Random(15), population.truth()
    held = sum(_holds(interval(population.processes(source, count)), truth) for _ in range(TRIALS))
    assert held / TRIALS >= 0.95 - BY_CHANCE


@few_and_more
@each_population
def test_the_same_thing_twice_is_rarely_called_different(population: Population, count: int) -> None:
    """At most 2.5 % on either side, so that "better" is wrong in far less than 5 %."""
    source = random.Random(16)
    verdicts = [
        difference(population.processes(source, count), population.processes(source, count)).verdict
        for _ in range(TRIALS)
    ]
    for wrong in ("better", "worse"):
        assert verdicts.count(wrong) / TRIALS <= 0.025 + 0.015  # three standard errors


@pytest.mark.parametrize("population", SHAPES, ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("base", "new"), [(1, 2), (1, 5), (2, 2), (2, 5), (2, 8), (3, 3), (3, 4), (4, 4), (5, 10)]
)
def test_no_shape_of_times_is_called_different_too_often(population: Population, base: int, new: int) -> None:
    """Two modes with 2 against 2 processes were, in 13 % of cases, and skewed times with 1 against 5 in 8 %."""
    source = random.Random(20)
    wrong = sum(
        difference(population.processes(source, base), population.processes(source, new)).verdict
        != "no difference shown"
        for _ in range(TRIALS)
    )
    assert wrong / TRIALS <= 0.05 + BY_CHANCE


@pytest.mark.parametrize("population", SHAPES, ids=lambda one: one.name)
@pytest.mark.parametrize("count", [2, 3, 6])
def test_pairs_of_the_same_thing_are_rarely_called_different(population: Population, count: int) -> None:
    source = random.Random(21)
    wrong = sum(
        paired_difference(population.processes(source, count), population.processes(source, count)).verdict
        != "no difference shown"
        for _ in range(TRIALS)
    )
    assert wrong / TRIALS <= 0.05 + BY_CHANCE


@few_and_more
def test_a_drifting_machine_is_not_a_difference(count: int) -> None:
    source = random.Random(17)
    verdicts = [difference(*with_drift(NESTED, source, count, 0.05)).verdict for _ in range(TRIALS)]
    assert verdicts.count("no difference shown") / TRIALS >= 0.95


@pytest.mark.parametrize(
    ("population", "count", "power"),
    [(NESTED, 3, 0.5), (NESTED, 5, 0.9), (NESTED, 10, 0.99), (QUIET, 3, 0.99), (DISTURBED, 10, 0.85)],
    ids=lambda one: getattr(one, "name", str(one)),
)
def test_three_percent_are_found_where_they_can_be(population: Population, count: int, power: float) -> None:
    """An interval without end would pass every test above."""
    source = random.Random(18)
    differences = [
        difference(population.processes(source, count), population.processes(source, count, SHIFT))
        for _ in range(TRIALS)
    ]
    assert sum(one.verdict == "worse" for one in differences) / TRIALS >= power
    held = sum(_holds(one.interval, 1 + SHIFT + SHIFT**2 / 2) for one in differences)
    assert held / TRIALS >= 0.95 - BY_CHANCE


@pytest.mark.parametrize("population", [NESTED, TWO_MODES, DISTURBED], ids=lambda one: one.name)
def test_the_naive_method_fails_on_the_same_data(
    population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bootstrap over the pooled samples calls the same thing different in a third of all cases, or more."""
    monkeypatch.setattr(series, "RESAMPLES", 200)
    source, trials = random.Random(16), 300
    naive = [
        _bootstrapped(population.processes(source, 5), population.processes(source, 5), source)
        for _ in range(trials)
    ]
    assert sum(not low <= 1 <= high for low, high in naive) / trials >= 0.33


def test_resampling_few_processes_covers_too_little() -> None:
    """Processes first, samples second: percentiles of what three processes a side yield are too narrow."""
    source, trials = random.Random(19), 300
    intervals = [
        _resampled_twice(NESTED.processes(source, 3), NESTED.processes(source, 3), source)
        for _ in range(trials)
    ]
    assert sum(low <= 0 <= high for low, high in intervals) / trials <= 0.90


def _resampled_twice(
    base: Sequence[Process], new: Sequence[Process], source: random.Random
) -> tuple[float, float]:
    """The interval of the difference of mean logarithms of processes' medians, from resampled processes and samples."""

    def mean(processes: Sequence[Process]) -> float:
        chosen = source.choices(processes, k=len(processes))
        return fmean(log(median(source.choices(one, k=len(one)))) for one in chosen)

    shifts = [mean(new) - mean(base) for _ in range(100)]
    return series.quantile(shifts, 0.025), series.quantile(shifts, 0.975)


def _bootstrapped(
    base: Sequence[Process], new: Sequence[Process], source: random.Random
) -> tuple[float, float]:
    """The interval of new / base from resampled samples, whichever process they come from."""
    before, after = (
        series._resampled_medians(pooled, len(pooled), source)
        for pooled in ([sample for process in side for sample in process] for side in (base, new))
    )
    ratios = [late / early for early, late in zip(before, after, strict=True)]
    return series.quantile(ratios, 0.025), series.quantile(ratios, 0.975)


def _holds(bounds: Interval | None, value: float) -> bool:
    assert bounds is not None
    return bounds.low <= value <= bounds.high
