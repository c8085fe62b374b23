"""Thinned readings: whatever is merged, however often, extremes, counts and the integral over time stay."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.backends.sensors import Reading
from rocm_perf.collect.sampling.sample_rows import Row, RowFormat
from rocm_perf.collect.sampling.thinning import Extent, Grid, Interval, Thinner, between, grid, merged

S = 10**9
_VALUES = st.floats(0, 1e6, allow_subnormal=False)
_SERIES = st.lists(st.tuples(st.integers(1, 3 * S), _VALUES), min_size=1, max_size=60)


def _readings(series: list[tuple[int, float]], gpu: int = 0) -> list[Row]:
    time_ns, readings = 7 * S, []
    for gap_ns, watts in series:
        time_ns += gap_ns
        readings.append(Reading(gpu, time_ns, {"power_w": watts}))
    return list(readings)


def _thinned(rows: Iterable[Row], length_ns: int, until_ns: int) -> list[Row]:
    thinner = Thinner(Grid(length_ns, until_ns))
    return [*(out for row in rows for out in thinner.add(row)), *thinner.rest()]


def _integral(rows: list[Row]) -> float:
    """Watt-nanoseconds: means times lengths, and trapezoids between single readings."""
    whole = math.fsum(
        row.extents["power_w"].mean * (row.end_ns - row.start_ns) for row in rows if isinstance(row, Interval)
    )
    single = [row for row in rows if isinstance(row, Reading)]
    return whole + math.fsum(
        (one.values["power_w"] + two.values["power_w"]) / 2 * (two.time_ns - one.time_ns)
        for one, two in pairwise(single)
    )


def _extremes(rows: list[Row]) -> tuple[float, float]:
    extents = [
        row.extents["power_w"] if isinstance(row, Interval) else Extent(*[row.values["power_w"]] * 3)
        for row in rows
    ]
    return min(extent.lowest for extent in extents), max(extent.highest for extent in extents)


def _count(rows: list[Row]) -> int:
    return sum(row.readings if isinstance(row, Interval) else 1 for row in rows)


@given(_SERIES, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200 * S)), min_size=1, max_size=6))
def test_extremes_counts_and_the_integral_stay(
    series: list[tuple[int, float]], thinnings: list[tuple[int, int]]
) -> None:
    original = rows = _readings(series)
    length_ns = S // 10
    for doublings, until_ns in thinnings:
        length_ns <<= doublings
        rows = _thinned(rows, length_ns, until_ns)
        assert _extremes(rows) == _extremes(original)
        assert _count(rows) == len(original)
        assert _integral(rows) == pytest.approx(_integral(original), rel=1e-12)
        for row in rows:
            if isinstance(row, Interval):
                low, mean, high = row.extents["power_w"]
                assert low - 1e-9 <= mean <= high + 1e-9


@given(_SERIES, st.integers(1, 6))
def test_thinning_step_by_step_equals_thinning_at_once(series: list[tuple[int, float]], times: int) -> None:
    steps = original = _readings(series)
    for doubling in range(1, times + 1):
        steps = _thinned(steps, S << doubling, 10**12)
    at_once = _thinned(original, S << times, 10**12)
    assert [_place(row) for row in steps] == [_place(row) for row in at_once]
    assert _integral(steps) == pytest.approx(_integral(at_once), rel=1e-12)


def _place(row: Row) -> tuple[int, ...]:
    return (row.start_ns, row.end_ns, row.readings) if isinstance(row, Interval) else (row.time_ns,)


@given(_SERIES, _SERIES)
def test_gpus_are_thinned_each_by_itself(one: list[tuple[int, float]], two: list[tuple[int, float]]) -> None:
    apart = [_readings(one, 0), _readings(two, 1)]
    both = _thinned(sorted(apart[0] + apart[1], key=lambda row: row.time_ns), 2 * S, 100 * S)  # type: ignore[union-attr]
    for gpu, rows in enumerate(apart):
        assert [row for row in both if row.index == gpu] == _thinned(rows, 2 * S, 100 * S)


def test_what_comes_later_is_left_as_it_was_read() -> None:
    rows = _thinned(_readings([(S, 1.0 * number) for number in range(10)]), 4 * S, 13 * S)
    assert [_place(row) for row in rows] == [
        (8 * S, 12 * S, 4),
        (12 * S, 13 * S, 1),
        *((second * S,) for second in range(13, 18)),
    ]


def test_a_metric_that_is_missing_for_a_while() -> None:
    first = between(Reading(0, 0, {"power_w": 4, "clock_mhz": 9}), Reading(0, 4, {"power_w": 6}))
    second = between(Reading(0, 4, {"power_w": 6}), Reading(0, 8, {"power_w": 0}))
    assert merged(first, second) == Interval(
        index=0,
        start_ns=0,
        end_ns=8,
        readings=2,
        extents={"power_w": Extent(0, 4, 6), "clock_mhz": Extent(9, 9, 9)},
    )


def test_two_readings_at_one_instant_divide_nothing_by_zero() -> None:
    point = between(Reading(0, 5, {"power_w": 2}), Reading(0, 5, {"power_w": 4}))
    assert merged(point, point).extents == {"power_w": Extent(2, 3, 4)}


@given(st.integers(10**6, S), st.integers(4, 40_000), st.integers(1, 10**8))
def test_a_grid_leaves_half_of_the_rows_that_a_file_may_have(
    interval_ns: int, most_rows: int, ticks: int
) -> None:
    last_ns = ticks * interval_ns
    chosen = grid(0, last_ns, interval_ns=interval_ns, most_rows=most_rows)
    intervals = max(0, chosen.until_ns) / chosen.length_ns
    assert intervals + (last_ns - chosen.until_ns) / interval_ns <= most_rows / 2 + 1
    assert chosen.length_ns % interval_ns == 0


_EXTENTS = st.builds(Extent, *[st.floats(-1e30, 1e30).map(lambda number: float(f"{number:.15g}"))] * 3)


@given(st.dictionaries(st.sampled_from(["power_w", "clock_mhz"]), _EXTENTS))
def test_a_row_is_read_as_it_was_written(extents: dict[str, Extent]) -> None:
    plain = RowFormat(("power_w", "clock_mhz"))
    wide = replace(plain, is_thinned=True)
    interval = Interval(index=3, start_ns=10, end_ns=20, readings=7, extents=extents)
    reading = Reading(3, 10, {metric: extent.mean for metric, extent in extents.items()})
    for row, form in ((interval, wide), (reading, wide), (reading, plain)):
        assert form.parsed(form.line(row)) == row
        assert form.line(row).count(",") == form.header({})[-1].count(",")
