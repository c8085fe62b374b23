"""Sensors over time, thinned."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.program.sensors import POINTS, sensor_series
from tests.unit.analysis.traces import Row, trace


def reading(at: int, value: float, metric: str = "clock_mhz", agent: int = 0, **more: float) -> Row:
    return {"time_ns": at, "metric": metric, "value": value, "agent_id": agent, "unit": "MHz", **more}


def test_few_readings_are_kept_as_they_are() -> None:
    (series,) = sensor_series(trace(samples=[reading(0, 100), reading(10, 300), reading(20, 200)]))
    assert series.at_ns == (0, 10, 20)
    assert series.lowest == series.mean == series.highest == (100, 300, 200)
    assert (series.unit, series.readings) == ("MHz", 3)


def test_many_readings_keep_their_extremes() -> None:
    rows = [reading(at, 900 if at == 5000 else 100) for at in range(10_000)]
    (series,) = sensor_series(trace(samples=rows))
    assert len(series.at_ns) == POINTS
    assert max(series.highest) == 900
    assert max(series.mean) == pytest.approx(100 + 800 / 50)
    assert min(series.lowest) == 100
    assert list(series.at_ns) == sorted(series.at_ns)


def test_a_thinned_row_counts_with_all_its_readings() -> None:
    thinned = reading(5, 100, lowest=50, highest=400, readings=9)
    (series,) = sensor_series(trace(samples=[thinned, reading(1000, 10)]))
    assert (series.lowest, series.highest) == ((50, 10), (400, 10))


def test_a_sensor_that_was_read_once_has_no_course() -> None:
    assert sensor_series(trace(samples=[reading(0, 100), reading(0, 1, metric="power_w")])) == ()


def test_gpus_and_metrics_are_apart_and_power_comes_first() -> None:
    rows = [
        reading(at, 1.0, metric, agent)
        for metric in ("clock_mhz", "power_w", "vram_used_bytes")
        for agent in (1, 0)
        for at in (0, 9)
    ]
    listed = [(one.metric, one.agent_id) for one in sensor_series(trace(samples=rows))]
    assert listed == [("power_w", 0), ("power_w", 1), ("clock_mhz", 0), ("clock_mhz", 1)]
