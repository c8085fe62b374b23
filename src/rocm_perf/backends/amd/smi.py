"""Readings through AMD SMI: its Python module, or its command line where the module cannot be loaded."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rocm_perf.backends.sensors import (
    NoSensorsError,
    Reading,
    SensorGpu,
    cap_in_watts,
    first,
    in_watts,
    known,
    number,
    percent,
    stamped,
)

_MIB = 2.0**20  # what AMD SMI calls MB
_COMMAND_TIMEOUT_S = 10.0
# Without its library the module has raised each of these when it was imported.
_IMPORT_ERRORS = (ImportError, KeyError, OSError, AttributeError)
_POWER = ("socket_power", "current_socket_power", "average_socket_power")


class AmdSmiModule:
    """The Python module `amdsmi`. Power is in W, clocks in MHz, memory in bytes, as its reference states."""

    source = "amdsmi"

    def __init__(self, rocm_paths: Sequence[str] = ()) -> None:
        self._api = _import_amdsmi(rocm_paths)
        self._error: type[Exception] = getattr(self._api, "AmdSmiException", Exception)
        try:
            self._api.amdsmi_init()
            self._handles = list(self._api.amdsmi_get_processor_handles())
        except self._error as error:
            raise NoSensorsError(f"amdsmi does not start ({error})") from error
        if not self._handles:
            raise NoSensorsError("amdsmi sees no GPU")
        self.gpus = tuple(self._gpu(index) for index in range(len(self._handles)))

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        readings = []
        for index in chosen:
            time_ns, values = stamped(partial(self._values, index, metrics))
            readings.append(Reading(index, time_ns, known(values, metrics)))
        return readings

    def close(self) -> None:
        self._ask("amdsmi_shut_down")

    def _gpu(self, index: int) -> SensorGpu:
        handle = self._handles[index]
        asic = self._ask("amdsmi_get_gpu_asic_info", handle) or {}
        cap = self._ask("amdsmi_get_power_cap_info", handle) or {}
        total = number(self._memory("amdsmi_get_gpu_memory_total", handle))
        return SensorGpu(
            index,
            pci=str(self._ask("amdsmi_get_gpu_device_bdf", handle) or "").lower(),
            uuid=str(self._ask("amdsmi_get_gpu_device_uuid", handle) or ""),
            name=str(asic.get("market_name") or ""),
            memory_bytes=None if total is None else int(total),
            power_limit_w=cap_in_watts(number(cap.get("power_cap"))),
        )

    def _values(self, index: int, metrics: Collection[str]) -> dict[str, float | None]:
        handle, gpu = self._handles[index], self.gpus[index]
        values: dict[str, float | None] = {}
        if "power_w" in metrics:
            activity = self._ask("amdsmi_get_gpu_activity", handle) or {}
            values |= {
                "power_w": in_watts(self._power(handle), gpu.power_limit_w),
                "clock_mhz": self._clock(handle, "GFX"),
                "memory_clock_mhz": self._clock(handle, "MEM"),
                "temperature_c": self._temperature(handle),
                "utilization_percent": number(activity.get("gfx_activity")),
                "memory_utilization_percent": number(activity.get("umc_activity")),
                "energy_j": self._energy(handle),
            }
        if "vram_used_bytes" in metrics:
            used = number(self._memory("amdsmi_get_gpu_memory_usage", handle))
            values |= {"vram_used_bytes": used, "vram_percent": percent(used, gpu.memory_bytes)}
        return values

    def _power(self, handle: Any) -> float | None:
        """The power: MI300 and later state the current one, older chips an average; ROCm 7 has one name for both."""
        info = self._ask("amdsmi_get_power_info", handle) or {}
        return first(number(info.get(name)) for name in _POWER)

    def _clock(self, handle: Any, domain: str) -> float | None:
        kind = getattr(self._api.AmdSmiClkType, domain, None)
        info = self._ask("amdsmi_get_clock_info", handle, kind) or {}
        return first(number(info.get(name)) for name in ("clk", "cur_clk"))

    def _temperature(self, handle: Any) -> float | None:
        """The junction (hotspot), which is what the other tools show as the temperature of the GPU."""
        types, current = self._api.AmdSmiTemperatureType, self._api.AmdSmiTemperatureMetric.CURRENT
        kinds = [getattr(types, name, None) for name in ("HOTSPOT", "JUNCTION")]
        return first(
            number(self._ask("amdsmi_get_temp_metric", handle, kind, current))
            for kind in kinds
            if kind is not None
        )

    def _energy(self, handle: Any) -> float | None:
        """The energy so far: the accumulator times its resolution, which is in microjoules."""
        count = self._ask("amdsmi_get_energy_count", handle) or {}
        ticks = first(number(count.get(name)) for name in ("energy_accumulator", "power"))
        step = number(count.get("counter_resolution"))
        return None if ticks is None or step is None else ticks * step * 1e-6

    def _memory(self, function: str, handle: Any) -> object:
        return self._ask(function, handle, self._api.AmdSmiMemoryType.VRAM)

    def _ask(self, function: str, *arguments: Any) -> Any:
        """The answer of a function; None where this GPU does not answer, or this release has no such function."""
        called = getattr(self._api, function, None)
        try:
            return called(*arguments) if called else None
        except self._error:
            return None


def _import_amdsmi(rocm_paths: Sequence[str]) -> Any:
    """The module, also from a ROCm that has not been installed into this Python."""
    shipped = [str(Path(path) / "share" / "amd_smi") for path in rocm_paths]
    sys.path.extend(path for path in shipped if path not in sys.path)
    try:
        return importlib.import_module("amdsmi")
    except _IMPORT_ERRORS as error:
        raise NoSensorsError(f"amdsmi cannot be imported ({type(error).__name__}: {error})") from error


class AmdSmiCommand:
    """The command `amd-smi metric --json`. One call reads all GPUs and takes a good part of a second."""

    source = "amd-smi"

    def __init__(self, command: str = "amd-smi") -> None:
        self._command = command
        entries = self._run("metric")
        names = {_index(entry): entry for entry in self._run("static", may_fail=True)}
        places = {_index(entry): entry for entry in self._run("list", may_fail=True)}
        self.gpus = tuple(
            _described(index, names.get(index, {}), places.get(index, {}), entry)
            for entry in entries
            if (index := _index(entry)) is not None
        )
        if not self.gpus:
            raise NoSensorsError("amd-smi lists no GPU")

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        time_ns, entries = stamped(lambda: self._run("metric"))
        by_index = {_index(entry): entry for entry in entries}
        caps = {gpu.index: gpu.power_limit_w for gpu in self.gpus}
        return [
            Reading(index, time_ns, known(_metric_values(by_index[index], caps.get(index)), metrics))
            for index in chosen
            if index in by_index
        ]

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    def _run(self, verb: str, may_fail: bool = False) -> list[dict[str, Any]]:
        try:
            done = subprocess.run(
                [self._command, verb, "--json"],
                capture_output=True,
                text=True,
                timeout=_COMMAND_TIMEOUT_S,
                check=True,
            )
            document = json.loads(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            if may_fail:
                return []
            raise NoSensorsError(f"`{self._command} {verb} --json` fails ({error})") from error
        entries = document.get("gpu_data", []) if isinstance(document, dict) else document
        return [entry for entry in entries if isinstance(entry, dict)]


def _index(entry: dict[str, Any]) -> int | None:
    value = number(entry.get("gpu"))
    return None if value is None else int(value)


def _at(entry: dict[str, Any], path: str) -> float | None:
    """The value of a leaf: a number, or {"value": 120, "unit": "W"} with the unit brought to ours."""
    node: Any = entry
    for name in path.split("/"):
        node = node.get(name) if isinstance(node, dict) else None
    if not isinstance(node, dict):
        return number(node)
    value = number(node.get("value"))
    scale = {"mw": 1e-3, "uw": 1e-6, "kb": 2.0**10, "mb": _MIB, "gb": 2.0**30, "ghz": 1e3}
    return None if value is None else value * scale.get(str(node.get("unit")).lower(), 1.0)


def _metric_values(entry: dict[str, Any], cap_w: float | None) -> dict[str, float | None]:
    used, total = _at(entry, "mem_usage/used_vram"), _at(entry, "mem_usage/total_vram")
    power = first(_at(entry, f"power/{name}") for name in _POWER)
    return {
        "power_w": in_watts(power, cap_w),
        "clock_mhz": first(_at(entry, path) for path in ("clock/gfx_0/clk", "clock/gfx/clk")),
        "memory_clock_mhz": first(_at(entry, path) for path in ("clock/mem_0/clk", "clock/mem/clk")),
        "temperature_c": first(_at(entry, f"temperature/{name}") for name in ("hotspot", "junction")),
        "utilization_percent": _at(entry, "usage/gfx_activity"),
        "memory_utilization_percent": _at(entry, "usage/umc_activity"),
        "energy_j": _at(entry, "energy/total_energy_consumption"),
        "vram_used_bytes": used,
        "vram_percent": percent(used, total),
    }


def _described(
    index: int, static: dict[str, Any], listed: dict[str, Any], metric: dict[str, Any]
) -> SensorGpu:
    total = _at(metric, "mem_usage/total_vram")
    asic, bus = static.get("asic") or {}, static.get("bus") or {}
    limit = static.get("limit") or {}
    return SensorGpu(
        index,
        pci=str(listed.get("bdf") or bus.get("bdf") or "").lower(),
        uuid=str(listed.get("uuid") or ""),
        name=str(asic.get("market_name") or "") if isinstance(asic, dict) else "",
        memory_bytes=None if total is None else int(total),
        power_limit_w=cap_in_watts(first(_at(limit, name) for name in ("socket_power", "max_power"))),
    )
