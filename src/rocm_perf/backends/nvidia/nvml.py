"""Readings through NVML, NVIDIA's management library, which comes with the driver.

The dozen functions that are needed are bound here, so that nothing has to be installed for it. Units: milliwatts,
millijoules, MHz, degrees, bytes (NVML reference).
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from ctypes import Structure, Union, byref, c_char, c_double, c_int, c_longlong, c_uint, c_ulonglong
from functools import partial

from rocm_perf.backends.sensors import NoSensorsError, Reading, SensorGpu, known, percent, stamped

LIBRARY = "libnvidia-ml.so.1"

_SM_CLOCK, _MEMORY_CLOCK = 1, 2
_GPU_TEMPERATURE = 0
# NVML_FI_DEV_POWER_INSTANT. What nvmlDeviceGetPowerUsage gives is a mean over a second on recent GPUs.
_POWER_INSTANT = 186
# nvmlClocksThrottleReason: SwPowerCap, HwSlowdown, SwThermalSlowdown, HwThermalSlowdown, HwPowerBrakeSlowdown
_HELD_DOWN = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
_NO_VALUE = 3  # NVML_ERROR_NOT_SUPPORTED
_TEXT_BYTES = 96


class _PciInfo(Structure):
    _fields_ = (
        ("bus_id_legacy", c_char * 16),
        ("domain", c_uint),
        ("bus", c_uint),
        ("device", c_uint),
        ("pci_device_id", c_uint),
        ("pci_subsystem_id", c_uint),
        ("bus_id", c_char * 32),
    )


class _Memory(Structure):
    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class _MemoryV2(Structure):
    _fields_ = (
        ("version", c_uint),
        ("total", c_ulonglong),
        ("reserved", c_ulonglong),
        ("free", c_ulonglong),
        ("used", c_ulonglong),
    )


class _Utilization(Structure):
    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class _Value(Union):
    _fields_ = (("double", c_double), ("uint", c_uint), ("ulonglong", c_ulonglong))


class _FieldValue(Structure):
    _fields_ = (
        ("field", c_uint),
        ("scope", c_uint),
        ("timestamp", c_longlong),
        ("latency_us", c_longlong),
        ("value_type", c_uint),
        ("status", c_uint),
        ("value", _Value),
    )


class Nvml:
    """NVML, started."""

    source = "nvml"

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise NoSensorsError(f"{library} cannot be loaded ({error})") from error
        if status := self._call("nvmlInit_v2"):
            raise NoSensorsError(f"NVML does not start (nvmlInit_v2 gives {status})")
        count = c_uint()
        self._call("nvmlDeviceGetCount_v2", byref(count))
        self._handles = [
            handle for index in range(count.value) if (handle := self._handle(index)) is not None
        ]
        if not self._handles:
            self.close()
            raise NoSensorsError("NVML sees no GPU")
        self.gpus = tuple(self._gpu(index) for index in range(len(self._handles)))

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        readings = []
        for index in chosen:
            time_ns, values = stamped(partial(self._values, self._handles[index], metrics))
            readings.append(Reading(index, time_ns, known(values, metrics)))
        return readings

    def close(self) -> None:
        self._call("nvmlShutdown")

    def _call(self, function: str, *arguments: object) -> int:
        """Call a function and return its status, 0 for success; one that this driver lacks is "not supported"."""
        try:
            return int(getattr(self._library, function)(*arguments))
        except AttributeError:
            return _NO_VALUE

    def _handle(self, index: int) -> ctypes.c_void_p | None:
        handle = ctypes.c_void_p()
        status = self._call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
        return None if status else handle

    def _gpu(self, index: int) -> SensorGpu:
        handle = self._handles[index]
        limit = self._uint("nvmlDeviceGetEnforcedPowerLimit", handle)
        memory = self._memory(handle)
        return SensorGpu(
            index,
            pci=self._pci(handle),
            uuid=self._string("nvmlDeviceGetUUID", handle),
            name=self._string("nvmlDeviceGetName", handle),
            memory_bytes=None if memory is None else memory[1],
            power_limit_w=None if limit is None else limit / 1e3,
        )

    def _values(self, handle: ctypes.c_void_p, metrics: Collection[str]) -> dict[str, float | None]:
        values: dict[str, float | None] = {}
        if "power_w" in metrics:
            busy = _Utilization()
            has_busy = not self._call("nvmlDeviceGetUtilizationRates", handle, byref(busy))
            values |= {
                "power_w": self._power_w(handle),
                "clock_mhz": self._uint("nvmlDeviceGetClockInfo", handle, c_uint(_SM_CLOCK)),
                "memory_clock_mhz": self._uint("nvmlDeviceGetClockInfo", handle, c_uint(_MEMORY_CLOCK)),
                "temperature_c": self._uint("nvmlDeviceGetTemperature", handle, c_uint(_GPU_TEMPERATURE)),
                "utilization_percent": busy.gpu if has_busy else None,
                "memory_utilization_percent": busy.memory if has_busy else None,
                "energy_j": self._energy_j(handle),
            }
        if "throttled" in metrics:
            values["throttled"] = self._throttled(handle)
        if "vram_used_bytes" in metrics and (memory := self._memory(handle)):
            values |= {"vram_used_bytes": memory[0], "vram_percent": percent(*memory)}
        return values

    def _power_w(self, handle: ctypes.c_void_p) -> float | None:
        """The power at this instant, where the driver knows it."""
        asked = _FieldValue(field=_POWER_INSTANT)
        status = self._call("nvmlDeviceGetFieldValues", handle, c_int(1), byref(asked))
        if not status and not asked.status:
            return float(asked.value.uint) / 1e3
        milliwatts = self._uint("nvmlDeviceGetPowerUsage", handle)
        return None if milliwatts is None else milliwatts / 1e3

    def _throttled(self, handle: ctypes.c_void_p) -> float | None:
        """1 while power or heat holds the clocks down, else 0."""
        reasons = c_ulonglong()
        status = self._call("nvmlDeviceGetCurrentClocksThrottleReasons", handle, byref(reasons))
        return None if status else float(bool(reasons.value & _HELD_DOWN))

    def _energy_j(self, handle: ctypes.c_void_p) -> float | None:
        millijoules = c_ulonglong()
        status = self._call("nvmlDeviceGetTotalEnergyConsumption", handle, byref(millijoules))
        return None if status else millijoules.value / 1e3

    def _memory(self, handle: ctypes.c_void_p) -> tuple[int, int] | None:
        """Used and total bytes. The second version leaves out what the driver keeps for itself, as nvidia-smi does."""
        new = _MemoryV2(version=ctypes.sizeof(_MemoryV2) | 2 << 24)
        if not self._call("nvmlDeviceGetMemoryInfo_v2", handle, byref(new)):
            return new.used, new.total
        old = _Memory()
        if not self._call("nvmlDeviceGetMemoryInfo", handle, byref(old)):
            return old.used, old.total
        return None

    def _uint(self, function: str, handle: ctypes.c_void_p, *arguments: object) -> int | None:
        value = c_uint()
        status = self._call(function, handle, *arguments, byref(value))
        return None if status else value.value

    def _string(self, function: str, handle: ctypes.c_void_p) -> str:
        buffer = ctypes.create_string_buffer(_TEXT_BYTES)
        status = self._call(function, handle, buffer, c_uint(_TEXT_BYTES))
        return "" if status else buffer.value.decode("utf-8", "replace")

    def _pci(self, handle: ctypes.c_void_p) -> str:
        info = _PciInfo()
        status = self._call("nvmlDeviceGetPciInfo_v3", handle, byref(info))
        return "" if status else bytes(info.bus_id).decode("ascii", "replace").lower()
