"""Lines over time, and the durations of kernels."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from rocm_perf.model.results.energy import Energy, SensorSeries
from rocm_perf.model.results.times import Durations, Hotspot
from rocm_perf.render.figures.durations import kernels_figure, sparkline
from rocm_perf.render.figures.figure import NARROW, WIDE, Missing
from rocm_perf.render.figures.over_time import memory_figure, sensors_figure
from tests.unit.render.documents import recorded, simulated
from tests.unit.render.figures.drawings import SVG, check, parsed, texts

POWER = SensorSeries(
    metric="power_w",
    unit="W",
    node=0,
    agent_id=0,
    readings=30,
    at_ns=(1_000_000_000, 2_000_000_000, 3_000_000_000),
    lowest=(90.0, 180.0, 95.0),
    mean=(100.0, 200.0, 100.0),
    highest=(110.0, 300.0, 105.0),
)
KERNEL = Hotspot(
    kernel="gemm",
    short_name="gemm",
    calls=4,
    total_ns=400,
    mean_ns=100,
    median_ns=100,
    min_ns=10,
    max_ns=1000,
    share=0.5,
    durations=Durations(course_ns=(50.0, 100.0), counts=(1, 3)),
)


def energy(*series: SensorSeries) -> Energy:
    return Energy(gpus=(), kernels=(), families=(), steps=(), left_out=0, limits=(), sensors=series)


def points(one: ElementTree.Element) -> list[tuple[float, float]]:
    return [
        (float(x), float(y)) for x, _, y in (pair.partition(",") for pair in one.get("points", "").split())
    ]


def test_a_line_rises_in_proportion_from_zero_and_a_band_holds_the_extremes() -> None:
    tree = parsed(sensors_figure(energy(POWER)))
    (line,) = (one for one in tree.iter(f"{SVG}polyline") if one.get("class") == "stroke-1")
    zero = next(float(one.get("y", "0")) - 4 for one in tree.iter(f"{SVG}text") if one.text == "0")
    heights = [zero - y for _, y in points(line)]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.05)
    (band,) = tree.iter(f"{SVG}polygon")
    assert zero - min(y for _, y in points(band)) == pytest.approx(3 * heights[0], abs=0.1)


def test_times_begin_with_the_first_reading_and_end_at_the_right_edge() -> None:
    tree = parsed(sensors_figure(energy(POWER)))
    (line,) = (one for one in tree.iter(f"{SVG}polyline") if one.get("class") == "stroke-1")
    (left, _), (middle, _), (right, _) = points(line)
    assert right == WIDE
    assert middle == pytest.approx((left + right) / 2, abs=0.02)
    assert {"0 s", "1 s", "time since the first reading"} <= set(texts(sensors_figure(energy(POWER))))


def test_each_kind_of_sensor_has_its_diagram_and_each_gpu_its_line() -> None:
    clock = replace(POWER, metric="clock_mhz", unit="MHz")
    drawn = sensors_figure(energy(POWER, replace(POWER, agent_id=1), clock), NARROW)
    check(drawn)
    assert {"Power, W", "Clock, MHz", "GPU 0", "GPU 1"} <= set(texts(drawn))


def test_nothing_read_says_so() -> None:
    assert sensors_figure(replace(energy(), unavailable="no power was read")) == Missing("no power was read")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_recorded_memory_and_sensors(width: float) -> None:
    check(memory_figure(recorded("eager_sync.json.gz").memory, width))
    check(sensors_figure(recorded("nvidia_smi.csv").energy, width))
    check(kernels_figure(simulated("straggler").hotspots, width))


def test_a_sparkline_starts_at_zero() -> None:
    tree = parsed(sparkline(KERNEL, width=80, height=20))
    (line,) = tree.iter(f"{SVG}polyline")
    assert points(line) == [(0, 10), (80, 2)]


def test_one_call_is_level() -> None:
    once = replace(KERNEL, durations=Durations(course_ns=(5.0,), counts=(1,)))
    (line,) = parsed(sparkline(once, width=80, height=20)).iter(f"{SVG}polyline")
    assert points(line) == [(0, 2), (80, 2)]


def test_durations_that_were_not_kept_are_not_drawn() -> None:
    assert isinstance(sparkline(replace(KERNEL, durations=None)), Missing)
