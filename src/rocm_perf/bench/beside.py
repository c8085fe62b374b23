"""The GPU's clock beside the timing, read from this process while another one measures."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType

from rocm_perf.backends.amd.sysfs import AmdSysfs
from rocm_perf.backends.nvidia.nvml import Nvml
from rocm_perf.backends.sensors import NoSensorsError, Reading, SensorGpu, Sensors
from rocm_perf.bench.journal import Window
from rocm_perf.bench.samples import Samples

_INTERVAL_S = 0.02
_METRICS = ("power_w", "clock_mhz", "throttled")
_SOURCES: tuple[Callable[[], Sensors], ...] = (Nvml, AmdSysfs)


class Beside:
    """Reads every GPU again and again in a thread while the block runs. Without sensors there are no readings."""

    def __init__(
        self, sources: Sequence[Callable[[], Sensors]] = _SOURCES, interval_s: float = _INTERVAL_S
    ) -> None:
        self._sensors = _opened(sources)
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read_on, daemon=True)
        self.readings: list[Reading] = []
        self.gpus: tuple[SensorGpu, ...] = self._sensors.gpus if self._sensors else ()

    def __enter__(self) -> Beside:
        if self._sensors is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sensors is not None:
            self._stop.set()
            self._thread.join()
            self._sensors.close()

    def of(self, uuid: str) -> list[Reading]:
        """The readings of the GPU that has this uuid, or of the only one; none where it is not clear which."""
        indexes = [gpu.index for gpu in self.gpus if uuid and uuid.lower() in gpu.uuid.lower()]
        if not indexes and len(self.gpus) == 1:
            indexes = [self.gpus[0].index]
        return [reading for reading in self.readings if reading.index in indexes]

    def machine(self) -> dict[str, str]:
        """The GPUs of this machine as facts, without a uuid where it is not known which of several a command uses."""
        if not self.gpus:
            return {}
        uuid = {"uuid": self.gpus[0].uuid} if len(self.gpus) == 1 else {}
        names = Counter(gpu.name for gpu in self.gpus)
        return {
            "gpu": ", ".join(f"{count} x {name}" if count > 1 else name for name, count in names.items()),
            **uuid,
        }

    def _read_on(self) -> None:
        assert self._sensors is not None
        indexes = [gpu.index for gpu in self.gpus]
        while not self._stop.wait(self._interval_s):
            with suppress(OSError):
                self.readings += self._sensors.read(indexes, _METRICS)


def with_readings(samples: Samples, windows: Sequence[Window], beside: Beside) -> Samples:
    """The samples with the clocks that were read while they were taken. Which sample of a window was throttled cannot
    be told: all of them are flagged."""
    readings = beside.of(str(samples.facts.get("machine", {}).get("uuid", "")))
    clocks: list[float] = []
    throttled: list[int] = []
    for window in windows:
        inside = [one.values for one in readings if window.begin_ns <= one.time_ns <= window.end_ns]
        clocks += [values["clock_mhz"] for values in inside if "clock_mhz" in values]
        if any(values.get("throttled") for values in inside):
            throttled += range(window.first, window.first + window.count)
    return replace(samples, clocks_mhz=tuple(clocks), throttled=tuple(throttled))


def _opened(sources: Sequence[Callable[[], Sensors]]) -> Sensors | None:
    for source in sources:
        with suppress(NoSensorsError):
            return source()
    return None
