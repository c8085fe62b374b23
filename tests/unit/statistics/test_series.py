"""Statistics: against definitions, against plain resampling, and by simulation."""

from __future__ import annotations

import math
import random
import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.statistics import series

SAMPLES = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=200)


@given(SAMPLES)
def test_median_is_the_median(samples: list[float]) -> None:
    assert series.median(samples) == pytest.approx(statistics.median(samples))


@given(SAMPLES, st.floats(0, 1), st.floats(0, 1))
def test_quantiles_are_ordered_and_inside(samples: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    tiny = 1e-9 * max(samples)
    assert min(samples) - tiny <= series.quantile(samples, low) <= series.quantile(samples, high) + tiny
    assert series.quantile(samples, 1) == max(samples)
    assert series.quantile(samples, 0) == min(samples)


def test_quantiles_interpolate() -> None:
    assert series.quantile([10, 20, 30, 40, 50], 0.25) == 20
    assert series.quantile([10, 20], 0.05) == pytest.approx(10.5)
    with pytest.raises(ValueError, match="no samples"):
        series.quantile([], 0.5)


@given(st.lists(st.floats(1, 1e6), min_size=series.FEWEST_SAMPLES, max_size=60))
def test_the_interval_holds_the_median_and_stays_inside(samples: list[float]) -> None:
    interval = series.median_interval(samples)
    assert interval is not None
    assert min(samples) <= interval[0] <= interval[1] <= max(samples)
    assert interval[0] <= series.median(samples) * (1 + 1e-12)
    assert interval[1] >= series.median(samples) * (1 - 1e-12)
    assert interval == series.median_interval(list(reversed(samples)))  # seeded; backwards is as good


@pytest.mark.parametrize("count", [25, 40])
@pytest.mark.thorough
def test_it_is_the_bootstrap(count: int) -> None:
    """The distribution of resampled medians is that of resampling, for odd and even counts."""
    source = random.Random(3)
    samples = [source.lognormvariate(0, 0.5) for _ in range(count)]
    drawn = sorted(statistics.median(source.choices(samples, k=count)) for _ in range(20_000))
    fast = sorted(series._resampled_medians(samples, count, random.Random(5)))
    spread = statistics.stdev(drawn)
    for share in (0.025, 0.25, 0.5, 0.75, 0.975):
        assert series.quantile(fast, share) == pytest.approx(series.quantile(drawn, share), abs=0.15 * spread)
    assert statistics.stdev(fast) == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("draws", [1, 2, 3, 4, 8])
@pytest.mark.thorough
def test_it_is_the_bootstrap_of_fewer_draws(draws: int) -> None:
    source = random.Random(4)
    samples = [float(value) for value in range(11)]
    drawn = [statistics.median(source.choices(samples, k=draws)) for _ in range(40_000)]
    fast = series._resampled_medians(samples, draws, random.Random(5))
    assert statistics.mean(fast) == pytest.approx(statistics.mean(drawn), abs=0.15)
    assert statistics.stdev(fast) == pytest.approx(statistics.stdev(drawn), rel=0.04)


@pytest.mark.parametrize("count", [series.FEWEST_SAMPLES, 21, 60])
@pytest.mark.whole
def test_coverage_by_simulation(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skewed, as times are: the interval holds the true median about as often as it says."""
    monkeypatch.setattr(series, "RESAMPLES", 600)
    source = random.Random(11)
    held = 0
    for _ in range(300):
        interval = series.median_interval([source.lognormvariate(0, 1) for _ in range(count)])
        held += interval is not None and interval[0] <= 1.0 <= interval[1]
    assert 0.90 <= held / 300 <= 0.99


def correlated(source: random.Random, count: int, step: float) -> list[float]:
    """Times that depend on those before them, an AR(1) series, of median 1."""
    value, covered = source.gauss(0, 1), []
    for _ in range(count):
        covered.append(math.exp(0.3 * value))
        value = step * value + math.sqrt(1 - step * step) * source.gauss(0, 1)
    return covered


@pytest.mark.parametrize(
    ("count", "step", "least"),
    [
        (20, 0.0, 0.93),
        (100, 0.0, 0.93),
        (20, 0.5, 0.86),
        (100, 0.5, 0.90),
        (20, 0.9, 0.55),  # hardly more than one independent sample: nothing helps
        (100, 0.9, 0.83),
    ],
)
@pytest.mark.thorough
def test_coverage_of_samples_that_depend_on_each_other(
    count: int, step: float, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "RESAMPLES", 300)
    source = random.Random(19)
    held = both = 0
    for _ in range(300):
        one, other = (correlated(source, count, step) for _ in range(2))
        interval, ratio = series.median_interval(one), series.median_ratio(one, other).interval
        assert interval is not None
        assert ratio is not None
        held += interval[0] <= 1 <= interval[1]
        both += ratio[0] <= 1 <= ratio[1]
    assert least <= held / 300 <= 0.99
    assert least <= both / 300 <= 0.99


def test_independent_samples_count_nearly_in_full() -> None:
    source = random.Random(23)
    counts = [series.effective_count([source.random() for _ in range(100)]) for _ in range(200)]
    assert max(counts) == 100
    assert statistics.mean(counts) > 90


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([5.0] * 30, 30),  # no two differ
        ([1.0, 2.0] * 15, 30),  # by turns: no reason for a narrower interval
        ([1.0, 1.0, 2.0, 2.0] * 10, 36),  # by twos: nearly none, but what is seen is a little too small
        ([1.0] * 15 + [2.0] * 15, 1),  # the clock changed once
        ([float(value) for value in range(30)], 1),  # and here all the time
    ],
)
def test_effective_count(samples: list[float], expected: int) -> None:
    assert series.effective_count(samples) == expected


def test_a_drift_of_both_interleaved_series_hides_no_difference() -> None:
    """It cancels out of their ratios: without that, each series would count as a few samples."""
    source = random.Random(29)
    drift = [1 + 0.02 * turn / 100 for turn in range(100)]
    base, new = ([factor * one * source.gauss(1, 0.002) for one in drift] for factor in (1.0, 0.99))
    assert series.verdict(series.median_ratio(base, new)) == "better"
    assert series.verdict(series.median_ratio(base, new[:-1])) == "no difference shown"  # not by turns


def test_an_interval_that_begins_or_ends_at_one_shows_no_difference() -> None:
    assert series.verdict(series.Ratio(1.05, (1.0, 1.1))) == "no difference shown"
    assert series.verdict(series.Ratio(0.95, (0.9, 1.0))) == "no difference shown"


@pytest.mark.thorough
def test_the_same_code_twice_shows_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "RESAMPLES", 600)
    source = random.Random(13)
    alarms = 0
    for _ in range(300):
        one, other = ([source.lognormvariate(5, 0.1) for _ in range(30)] for _ in range(2))
        alarms += series.verdict(series.median_ratio(one, other)) != "no difference shown"
    assert alarms / 300 < 0.08


@pytest.mark.parametrize(("factor", "expected"), [(0.9, "better"), (1.1, "worse")])
def test_a_real_difference_is_shown(factor: float, expected: str) -> None:
    source = random.Random(17)
    base, new = ([factor_ * source.gauss(100, 3) for _ in range(100)] for factor_ in (1.0, factor))
    ratio = series.median_ratio(base, new)
    assert series.verdict(ratio) == expected
    assert ratio.interval is not None
    assert ratio.interval[0] < 1 / factor < ratio.interval[1]


def test_a_difference_must_be_larger_than_the_noise() -> None:
    twice = series.Ratio(1.0, (0.98, 1.01))
    noise = series.noise_of(twice)
    assert noise == pytest.approx(1 / 0.98 - 1)
    assert series.verdict(series.Ratio(1.02, (1.015, 1.03)), noise) == "no difference shown"
    assert series.verdict(series.Ratio(1.04, (1.03, 1.05)), noise) == "better"
    assert series.verdict(series.Ratio(0.985, (0.981, 0.99)), noise) == "no difference shown"
    assert series.verdict(series.Ratio(0.97, (0.96, 0.979)), noise) == "worse"
    assert series.noise_of(series.Ratio(1.0, None)) == 0


def test_too_few_samples_have_no_interval_and_no_verdict() -> None:
    few, many = [1.0] * (series.FEWEST_SAMPLES - 1), [5.0] * 50
    assert series.median_interval(few) is None
    ratio = series.median_ratio(many, few)
    assert (ratio.value, ratio.interval) == (5.0, None)
    assert series.verdict(ratio) == "no difference shown"


def test_summary() -> None:
    summary = series.summary([float(value) for value in range(1, 101)])
    assert (summary.count, summary.median, summary.mean) == (100, 50.5, 50.5)
    assert (summary.lowest, summary.highest) == (1, 100)
    assert summary.p5 == pytest.approx(5.95)
    assert summary.p95 == pytest.approx(95.05)


def test_ten_thousand_samples_take_no_time() -> None:
    source = random.Random(1)
    samples = [source.random() for _ in range(10_000)]
    begun = time.process_time()
    series.median_ratio(samples, samples)
    assert time.process_time() - begun < 30  # all pairs would be 100 million
