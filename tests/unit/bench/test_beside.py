"""Clocks that are read beside the timing."""

from __future__ import annotations

from collections.abc import Collection

from rocm_perf.backends.sensors import NoSensorsError, Reading, SensorGpu
from rocm_perf.bench.beside import Beside, with_readings
from rocm_perf.bench.journal import Window
from rocm_perf.bench.samples import Samples

SAMPLES = Samples(times_ms=(1.0,) * 4, clock="device events", facts={"machine": {"uuid": "AB12"}})
WINDOWS = [Window(0, 9, first=0, count=2), Window(10, 19, first=2, count=2)]


class TwoGpus:
    """Sensors of two GPUs."""

    source = "fake"
    gpus: tuple[SensorGpu, ...] = (SensorGpu(0, uuid="GPU-ff00"), SensorGpu(1, uuid="GPU-ab12"))

    def __init__(self) -> None:
        self.closed = False

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        assert "clock_mhz" in metrics
        return [Reading(index, 5, {"clock_mhz": 1000.0 + index}) for index in chosen]

    def close(self) -> None:
        self.closed = True


def _nothing() -> TwoGpus:
    raise NoSensorsError("none here")


def _beside(*readings: Reading) -> Beside:
    beside = Beside([TwoGpus])
    beside.readings += readings
    return beside


def test_the_clocks_of_the_gpu_in_use_are_kept_with_its_samples() -> None:
    beside = _beside(
        Reading(0, 5, {"clock_mhz": 1.0}),
        Reading(1, 5, {"clock_mhz": 2000.0, "throttled": 0.0}),
        Reading(1, 15, {"clock_mhz": 1500.0, "throttled": 1.0}),
        Reading(1, 25, {"clock_mhz": 300.0, "throttled": 1.0}),
    )
    samples = with_readings(SAMPLES, WINDOWS, beside)
    assert samples.clocks_mhz == (2000.0, 1500.0)
    assert samples.throttled == (2, 3)


class OneGpu(TwoGpus):
    gpus: tuple[SensorGpu, ...] = (SensorGpu(0, uuid="GPU-ff00", name="MI300X"),)


class TwoAlike(TwoGpus):
    gpus: tuple[SensorGpu, ...] = (
        SensorGpu(0, uuid="GPU-ff00", name="MI300X"),
        SensorGpu(1, uuid="GPU-ab12", name="MI300X"),
    )


def test_the_machine_of_a_command_has_a_uuid_only_if_it_is_clear_which() -> None:
    assert Beside([OneGpu]).machine() == {"gpu": "MI300X", "uuid": "GPU-ff00"}
    assert Beside([TwoAlike]).machine() == {"gpu": "2 x MI300X"}
    assert Beside([_nothing]).machine() == {}


def test_which_of_two_gpus_it_was_is_not_guessed() -> None:
    unknown = Samples(times_ms=(1.0,) * 4, clock="device events")
    beside = _beside(Reading(0, 5, {"clock_mhz": 1.0}))
    assert with_readings(unknown, WINDOWS, beside).clocks_mhz == ()


def test_it_reads_until_the_end_and_closes() -> None:
    sensors = TwoGpus()
    with Beside([_nothing, lambda: sensors], interval_s=0.0) as beside:
        while not beside.readings:
            pass
    assert sensors.closed
    assert {reading.index for reading in beside.readings} == {0, 1}


def test_without_sensors_there_is_nothing_to_read() -> None:
    with Beside([_nothing]) as beside:
        assert with_readings(SAMPLES, WINDOWS, beside) == SAMPLES
