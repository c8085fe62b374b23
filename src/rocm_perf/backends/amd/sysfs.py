"""Readings straight from the amdgpu driver's files under /sys/class/drm (units: the kernel's hwmon interface)."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path

from rocm_perf.backends.sensors import (
    NoSensorsError,
    Reading,
    SensorGpu,
    first,
    in_watts,
    known,
    number,
    percent,
    stamped,
)

_AMD = "0x1002"
_UW = 1e-6  # power and energy are in microwatts and microjoules
_HZ_TO_MHZ = 1e-6
_MILLI = 1e-3  # temperatures are in thousandths of a degree


class AmdSysfs:
    """The files of every AMD GPU, in the order of their PCI addresses."""

    source = "sysfs"

    def __init__(self, root: Path = Path("/")) -> None:
        cards = sorted((root / "sys/class/drm").glob("card[0-9]*"), key=lambda card: card.name)
        devices = {
            os.path.realpath(card / "device"): None
            for card in cards
            if "-" not in card.name and _text(card / "device" / "vendor") == _AMD
        }
        self._devices = [Path(device) for device in sorted(devices)]
        if not self._devices:
            raise NoSensorsError("there is no AMD GPU under /sys/class/drm")
        self._hwmon = [_hwmon(device) for device in self._devices]
        self.gpus = tuple(self._gpu(index) for index in range(len(self._devices)))

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        readings = []
        for index in chosen:
            time_ns, values = stamped(partial(self._values, index, metrics))
            readings.append(Reading(index, time_ns, known(values, metrics)))
        return readings

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    def _gpu(self, index: int) -> SensorGpu:
        device, hwmon = self._devices[index], self._hwmon[index]
        total = _number(device / "mem_info_vram_total")
        return SensorGpu(
            index,
            pci=device.name.lower(),
            uuid=_text(device / "unique_id"),
            name=_text(device / "product_name"),
            memory_bytes=None if total is None else int(total),
            power_limit_w=_scaled(hwmon, "power1_cap", _UW),
        )

    def _values(self, index: int, metrics: Collection[str]) -> dict[str, float | None]:
        device, hwmon = self._devices[index], self._hwmon[index]
        values: dict[str, float | None] = {}
        if "power_w" in metrics:
            power = first(_scaled(hwmon, name, _UW) for name in ("power1_average", "power1_input"))
            values |= {
                "power_w": in_watts(power, self.gpus[index].power_limit_w),
                "clock_mhz": _labelled(hwmon, "freq", ("sclk",), _HZ_TO_MHZ),
                "memory_clock_mhz": _labelled(hwmon, "freq", ("mclk",), _HZ_TO_MHZ),
                "temperature_c": _labelled(hwmon, "temp", ("junction", "edge"), _MILLI),
                "utilization_percent": _number(device / "gpu_busy_percent"),
                "memory_utilization_percent": _number(device / "mem_busy_percent"),
                "energy_j": _scaled(hwmon, "energy1_input", _UW),
            }
        if "vram_used_bytes" in metrics:
            used = _number(device / "mem_info_vram_used")
            values |= {
                "vram_used_bytes": used,
                "vram_percent": percent(used, self.gpus[index].memory_bytes),
            }
        return values


def _hwmon(device: Path) -> Path | None:
    return next(iter(sorted((device / "hwmon").glob("hwmon*"))), None)


def _text(path: Path) -> str:
    """The content of a small file; empty where it is absent or the driver refuses."""
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _number(path: Path) -> float | None:
    return number(_text(path))


def _scaled(hwmon: Path | None, name: str, scale: float) -> float | None:
    value = None if hwmon is None else _number(hwmon / name)
    return None if value is None else value * scale


def _labelled(hwmon: Path | None, kind: str, labels: tuple[str, ...], scale: float) -> float | None:
    """The input whose label is the first of these; which number it has differs from chip to chip."""
    if hwmon is None:
        return None
    inputs = {_text(path): path for path in hwmon.glob(f"{kind}*_label")}
    for label in labels:
        if label in inputs:
            return _scaled(hwmon, inputs[label].name.replace("_label", "_input"), scale)
    return None
