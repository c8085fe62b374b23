"""Quantiles, places and intervals against tables and definitions."""

from __future__ import annotations

import itertools
import math
import statistics
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.statistics import difference, interval, one_more, summary
from rocm_perf.statistics.ranks import median_place, shift_place
from rocm_perf.statistics.student import t_quantile

TIMES = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12)
PROCESSES = st.lists(TIMES, min_size=2, max_size=8)
ENOUGH = st.lists(TIMES, min_size=3, max_size=8)


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 3, 3.182),
        (0.95, 4, 2.776),
        (0.95, 9, 2.262),
        (0.95, 30, 2.042),
        (0.99, 5, 4.032),
        (0.90, 8, 1.860),
    ],
)
def test_students_t_is_that_of_the_tables(level: float, freedom: int, expected: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(expected, abs=6e-4)


def test_six_values_are_the_fewest_that_bound_a_median() -> None:
    assert [median_place(count, 0.95) for count in (5, 6, 8, 9, 20)] == [None, 0, 0, 1, 5]


def test_places_of_a_shift_are_those_of_the_tables() -> None:
    """Critical values of the Mann-Whitney U test, two-sided 5 %."""
    tabled = {(4, 4): 0, (5, 5): 2, (6, 6): 5, (8, 8): 13, (10, 10): 23, (3, 5): 0, (20, 20): 127}
    assert {sides: shift_place(*sides, 0.95) for sides in tabled} == tabled
    assert shift_place(3, 3, 0.95) is None


@pytest.mark.parametrize(("first", "second"), [(3, 4), (5, 4), (2, 6)])
def test_the_place_misses_as_often_as_counting_all_orders_says(first: int, second: int) -> None:
    level = 0.8
    inverted = [
        sum(place > other for place in chosen for other in range(first + second) if other not in chosen)
        for chosen in itertools.combinations(range(first + second), first)
    ]
    place = shift_place(first, second, level)
    assert place is not None
    total = math.comb(first + second, first)
    assert 2 * sum(one <= place for one in inverted) / total <= 1 - level
    assert 2 * sum(one <= place + 1 for one in inverted) / total > 1 - level


@given(PROCESSES)
def test_the_interval_holds_the_median_of_medians(processes: list[list[float]]) -> None:
    bounds = interval(processes)
    assert bounds is not None
    centre = statistics.median(statistics.median(one) for one in processes)
    assert bounds.low <= centre * (1 + 1e-9)
    assert bounds.high >= centre * (1 - 1e-9)


@given(ENOUGH, ENOUGH, st.floats(0.01, 100))
def test_a_ratio_lies_in_its_interval_and_follows_the_scale(
    base: list[list[float]], new: list[list[float]], scale: float
) -> None:
    plain = difference(base, new)
    scaled = difference(base, [[scale * time for time in one] for one in new])
    assert plain.interval is not None
    assert plain.interval.low * (1 - 1e-9) <= plain.ratio <= plain.interval.high * (1 + 1e-9)
    assert scaled.ratio == pytest.approx(scale * plain.ratio)


def test_verdicts() -> None:
    slow, fast = [[10.0], [10.1], [10.2], [10.3]], [[5.0], [5.1], [5.2], [5.3]]
    assert difference(slow, fast).verdict == "better"
    assert difference(slow, fast).speedup == pytest.approx(2, rel=0.02)
    assert difference(fast, slow).verdict == "worse"
    assert difference(slow, slow).verdict == "no difference shown"
    assert difference(slow, fast, margin=1.5).verdict == "no difference shown"


def test_one_process_a_side_speaks_of_itself_alone() -> None:
    base, new = [[1.0 + i / 1000 for i in range(30)]], [[2.0 + i / 1000 for i in range(30)]]
    alone = difference(base, new)
    assert alone.verdict == "worse"
    assert alone.interval is not None
    assert alone.interval.scope == "this process alone"
    assert difference([[1.0]], [[2.0]]).interval is None
    assert difference([[1.0]], [[2.0]]).verdict == "no difference shown"
    assert interval([[1.0] * 9]) is None


@pytest.mark.parametrize(("base", "new"), [(1, 2), (1, 5), (1, 38), (2, 2), (2, 3), (2, 7)])
def test_too_few_processes_show_no_difference_however_large(base: int, new: int) -> None:
    """With two modes, 2 against 2 would be called different in one of eight cases, 1 against 2 in one of four."""
    slow, fast = ([[centre + i / 1000] for i in range(count)] for centre, count in ((10.0, base), (5.0, new)))
    for one, other in ((slow, fast), (fast, slow)):
        measured = difference(one, other)
        assert (measured.interval, measured.verdict) == (None, "no difference shown")
    assert difference(slow, fast).ratio == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(("base", "new"), [(3, 3), (3, 4), (2, 8), (1, 39)])
def test_as_few_processes_as_show_a_large_difference(base: int, new: int) -> None:
    slow, fast = ([[centre + i / 1000] for i in range(count)] for centre, count in ((10.0, base), (5.0, new)))
    assert difference(slow, fast).verdict == "better"
    assert difference(fast, slow).verdict == "worse"


def test_one_more_time_is_judged_by_the_spread_of_those_before() -> None:
    bounds = one_more([1.0, 1.1, 1.05], 1.0).interval
    assert bounds is not None
    assert bounds.low < 1 < bounds.high
    assert one_more([1.0, 1.001, 1.002], 1.1).verdict == "worse"


def test_a_process_without_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="without samples"):
        interval([[1.0], []])


def test_a_summary_is_what_it_says() -> None:
    one = summary([3.0, 1.0, 2.0])
    assert (one.count, one.mean, one.median, one.std, one.min, one.max) == (3, 2.0, 2.0, 1.0, 1.0, 3.0)
    assert summary([5.0]).std == 0.0


def test_an_interval_that_is_wider_than_any_number() -> None:
    """Two times that differ by half and one more, judged as strictly as one of a million comparisons is."""
    measured = one_more([1.0, 1.5], 1.0, level=1 - 1e-6)
    assert measured.interval
    assert measured.interval.high == pytest.approx(sys.float_info.max)
    assert measured.verdict == "no difference shown"
