"""What every source of sensor readings offers. Standard library only: the sampler's own process imports nothing else,
so that it starts at once and weighs little."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

# What a user can ask for, and the metrics that belong to it. Units are in the names; `energy_j` is the GPU's own
# counter, which runs since the driver was loaded.
METRICS = {
    "power": (
        "power_w",
        "clock_mhz",
        "memory_clock_mhz",
        "temperature_c",
        "utilization_percent",
        "memory_utilization_percent",
        "energy_j",
    ),
    "memory": ("vram_used_bytes", "vram_percent"),
}

_ABOVE_CAP = 2.0  # boosts and sensor noise stay below this multiple of the cap; a wrong unit does not
_ALL_ONES = (0xFFFF, 0xFFFFFFFF, float(0xFFFFFFFFFFFFFFFF))
_T = TypeVar("_T")


class NoSensorsError(Exception):
    """This source has nothing to read here; the text says why."""


@dataclass(frozen=True)
class SensorGpu:
    """One GPU, as the source numbers and describes it."""

    index: int
    pci: str = ""
    uuid: str = ""
    name: str = ""
    memory_bytes: int | None = None
    power_limit_w: float | None = None


@dataclass(frozen=True)
class Reading:
    """What one GPU said at one time. A metric that is not there was not available; it is never 0 for that."""

    index: int
    time_ns: int  # middle of the read, on the boot clock
    values: dict[str, float] = field(default_factory=dict)


class Sensors(Protocol):
    """One source of readings, opened."""

    source: str
    gpus: tuple[SensorGpu, ...]

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        """One reading of each chosen GPU."""

    def close(self) -> None:
        """Release the driver."""


def boot_ns() -> int:
    """The time on the clock that ROCm's profilers record."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def stamped(read: Callable[[], _T]) -> tuple[int, _T]:
    """Readings, stamped with the middle of the time that they took."""
    before = boot_ns()
    value = read()
    return (before + boot_ns()) // 2, value


def number(value: object) -> float | None:
    """A number, also from text; None for N/A and for the all-ones that drivers write when they have no value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number not in _ALL_ONES else None


def first(values: Iterable[float | None]) -> float | None:
    """The first value that is known."""
    return next((value for value in values if value is not None), None)


def known(values: dict[str, float | None], metrics: Collection[str]) -> dict[str, float]:
    """The metrics that were asked for and are there."""
    return {name: value for name, value in values.items() if value is not None and name in metrics}


def percent(used: float | None, total: float | None) -> float | None:
    """The share of memory in use, in percent."""
    return None if used is None or not total else 100 * used / total


def in_watts(power: float | None, cap_w: float | None) -> float | None:
    """Power in watts. Releases have mixed up W, mW and uW: what exceeds the cap beyond doubt is a smaller unit."""
    if power is None or not cap_w:
        return power
    for scale in (1.0, 1e-3, 1e-6):
        if power * scale <= _ABOVE_CAP * cap_w:
            return power * scale
    return None


def cap_in_watts(cap: float | None) -> float | None:
    """A power cap in watts: amdsmi states uW on bare metal and W on a host; no GPU takes 10 kW."""
    if not cap:
        return None
    return cap / 1e6 if cap > 10_000 else cap
