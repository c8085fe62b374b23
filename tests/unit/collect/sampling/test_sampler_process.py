"""The loop that reads the sensors: on time, never bunched, from the best source, and numbered as the machine is."""

from __future__ import annotations

import json
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.backends.sensors import NoSensorsError, Reading, SensorGpu, Sensors
from rocm_perf.collect.sampling.sampler_process import (
    Chosen,
    Gpu,
    Settings,
    choose,
    decoded,
    open_sensors,
    pairs,
    sample,
    sources,
)

MS = 1_000_000


class Clock:
    """Time that passes only where the test says so."""

    def __init__(self, end_ns: int) -> None:
        self.now = 0
        self.end = end_ns

    def __call__(self) -> int:
        return self.now

    def stopped(self, seconds: float) -> bool:
        assert seconds >= 0
        self.now += round(seconds * 1e9)
        return self.now >= self.end


@given(st.lists(st.integers(0, 99), min_size=1, max_size=30), st.sampled_from([1, 10, 100]))
def test_readings_fall_on_ticks_and_missed_ones_are_counted(costs: list[int], interval_ms: int) -> None:
    clock = Clock(end_ns=2_000 * MS)
    at: list[int] = []

    def read() -> None:
        at.append(clock.now)
        clock.now += costs[(len(at) - 1) % len(costs)] * MS

    tally = sample(read, interval_ms * MS, clock.stopped, clock)
    assert all(moment % (interval_ms * MS) == 0 for moment in at)
    assert len(set(at)) == len(at)
    assert tally.readings == len(at)
    assert tally.readings + tally.missed == max(at) // (interval_ms * MS)
    assert tally.longest_read_ns == max(costs[number % len(costs)] for number in range(len(at))) * MS


def test_the_interval_does_not_drift() -> None:
    clock = Clock(end_ns=1_000 * MS)
    at: list[int] = []

    def read() -> None:
        at.append(clock.now)
        clock.now += 3 * MS + len(at)  # takes time, and ever more

    sample(read, 10 * MS, clock.stopped, clock)
    assert at == [number * 10 * MS for number in range(1, 101)]


def test_a_slow_source_is_not_read_once_more_after_the_stop() -> None:
    clock = Clock(end_ns=1_000 * MS)

    def read() -> None:
        assert clock.now < clock.end
        clock.now += 300 * MS

    tally = sample(read, 100 * MS, clock.stopped, clock)
    assert tally.missed > 0


def test_a_reading_that_fails_is_counted_and_the_next_is_taken() -> None:
    clock = Clock(end_ns=50 * MS)

    def read() -> None:
        if clock.now < 30 * MS:
            raise NoSensorsError("the driver was busy")

    tally = sample(read, 10 * MS, clock.stopped, clock)
    assert (tally.readings, tally.failed) == (5, 2)


class Fake:
    """A source with one GPU."""

    def __init__(self, source: str, values: dict[str, float]) -> None:
        self.source = source
        self.gpus: tuple[SensorGpu, ...] = (SensorGpu(0),)
        self.values = values

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        return [Reading(index, 1, self.values) for index in chosen]

    def close(self) -> None:
        pass


def _absent() -> Sensors:
    raise NoSensorsError("amdsmi cannot be imported")


def test_the_first_source_with_a_value_is_taken_and_the_others_say_why_not() -> None:
    opened = open_sensors(
        [
            ("amdsmi", _absent),
            ("empty", lambda: Fake("empty", {})),
            ("sysfs", lambda: Fake("sysfs", {"power_w": 9})),
        ],
        ["power_w"],
        0.1,
    )
    assert opened.sensors.source == "sysfs"
    assert opened.notices == ()
    assert opened.passed_over == (
        "amdsmi cannot be imported",
        "empty has none of the values that were asked for",
    )
    with pytest.raises(NoSensorsError, match="amdsmi cannot be imported"):
        open_sensors([("amdsmi", _absent)], ["power_w"], 0.1)


def test_a_source_that_cannot_keep_up_is_taken_only_where_none_can() -> None:
    slow = ("amd-smi", lambda: Fake("amd-smi", {"power_w": 9}))
    quick = ("sysfs", lambda: Fake("sysfs", {"power_w": 9}))
    assert open_sensors([slow], ["power_w"], -1.0).notices == (
        "amd-smi cannot be read every -1 s: readings come as fast as it gives them",
    )
    assert open_sensors([slow, quick], ["power_w"], 10.0).sensors.source == "amd-smi"


@pytest.mark.parametrize(
    ("vendor", "interval_s", "order"),
    [
        ("AMD", 0.1, ["amdsmi", "sysfs", "amd-smi"]),
        ("AMD", 1.0, ["amdsmi", "amd-smi", "sysfs"]),
        ("NVIDIA", 0.1, ["nvml", "nvidia-smi"]),
        ("", 2.0, ["amdsmi", "amd-smi", "sysfs", "nvml", "nvidia-smi"]),
    ],
)
def test_the_order_of_sources(vendor: str, interval_s: float, order: list[str]) -> None:
    settings = Settings("x", interval_s, ("power",), vendor)
    assert [name for name, _ in sources(settings)] == order


def test_gpus_are_matched_by_pci_address_whatever_their_order() -> None:
    found = [SensorGpu(0, pci="00000000:C7:00.0"), SensorGpu(1, pci="00000000:C3:00.0")]
    machine = [Gpu(0, pci="0000:c3:00.0", ordinal=0), Gpu(1, pci="0000:c7:00.0", ordinal=1)]
    chosen = choose(found, machine)
    assert [reading.index for reading in chosen.renumbered([Reading(0, 5, {}), Reading(1, 5, {})])] == [1, 0]


def test_gpus_are_matched_by_uuid_or_number_where_there_is_no_address() -> None:
    by_uuid = choose([SensorGpu(0, uuid="GPU-B")], [Gpu(0, uuid="GPU-a"), Gpu(1, uuid="gpu-b", ordinal=0)])
    assert by_uuid.gpus[0][1].index == 1
    assert choose([SensorGpu(3)], [Gpu(3, ordinal=0)]).gpus[3][1].index == 3
    assert choose([SensorGpu(3)], []).gpus[3][1] == Gpu(3, ordinal=3)
    assert not choose([SensorGpu(0, pci="0000:01:00.0")], [Gpu(0, pci="0000:02:00.0", ordinal=0)]).gpus


def test_gpus_that_the_program_cannot_see_are_not_read() -> None:
    machine = [Gpu(0), Gpu(1, ordinal=0)]
    assert list(choose([SensorGpu(0), SensorGpu(1)], machine).gpus) == [1]
    # A mask that hides all of them hides nothing from the sampler: there is something to say after all.
    assert list(choose([SensorGpu(0)], [Gpu(0)]).gpus) == [0]


def test_the_second_die_of_a_package_has_no_power_of_its_own() -> None:
    dies = {index: (SensorGpu(index), Gpu(index, ordinal=index, shares_power=True)) for index in (0, 1)}
    chosen = Chosen(dies)
    raw = [Reading(0, 1, {"power_w": 480.0}), Reading(1, 1, {"power_w": 0.0, "clock_mhz": 1700.0})]
    readings = chosen.renumbered(raw)
    assert [reading.values for reading in readings] == [{"power_w": 480.0}, {"clock_mhz": 1700.0}]
    assert pairs(chosen, readings) == [
        "GPU 1 is the second die of a package: the power of GPU 0 is that of both"
    ]


def test_a_gpu_without_power_beside_one_with_it_is_named() -> None:
    gpus = {index: (SensorGpu(index), Gpu(index, gfx="gfx1100", ordinal=index)) for index in (0, 1)}
    readings = [Reading(0, 1, {"power_w": 80.0}), Reading(1, 1, {})]
    assert pairs(Chosen(gpus), readings) == ["GPU 1 does not tell its power"]
    assert pairs(Chosen(gpus), [Reading(0, 1, {}), Reading(1, 1, {})]) == []


def test_settings_arrive_as_they_were_sent() -> None:
    sent = {
        "output": "/x",
        "interval_s": 0.5,
        "metrics": ["power"],
        "vendor": "AMD",
        "gpus": [{"index": 0, "node": 2, "ordinal": 0}],
        "rocm_paths": ["/opt/rocm"],
        "host": "h",
    }
    assert decoded(json.dumps(sent)) == Settings(
        "/x", 0.5, ("power",), "AMD", (Gpu(0, node=2, ordinal=0),), ("/opt/rocm",), "h"
    )
