"""Readings through the command `nvidia-smi --query-gpu`, where NVML itself cannot be loaded."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Collection, Sequence

from rocm_perf.backends.sensors import NoSensorsError, Reading, SensorGpu, known, number, percent, stamped

_MIB = 2.0**20
_TIMEOUT_S = 10.0
_DESCRIPTION = ("index", "pci.bus_id", "uuid", "name", "memory.total", "enforced.power.limit")
# Older drivers have no instantaneous power.
_POWER = ("power.draw.instant", "power.draw")
_READINGS = (
    "clocks.sm",
    "clocks.mem",
    "temperature.gpu",
    "utilization.gpu",
    "utilization.memory",
    "memory.used",
)


class NvidiaSmiCommand:
    """The command. One call reads all GPUs."""

    source = "nvidia-smi"

    def __init__(self, command: str = "nvidia-smi") -> None:
        self._command = command
        self.gpus = tuple(_described(row) for row in self._query(_DESCRIPTION))
        if not self.gpus:
            raise NoSensorsError("nvidia-smi lists no GPU")
        self._power = self._power_field()

    def read(self, chosen: Collection[int], metrics: Collection[str]) -> list[Reading]:
        fields = ("index", self._power, *_READINGS)
        time_ns, rows = stamped(lambda: self._query(fields))
        totals = {gpu.index: gpu.memory_bytes for gpu in self.gpus}
        return [
            Reading(index, time_ns, known(_values(row[1:], totals.get(index)), metrics))
            for row in rows
            if (index := int(row[0])) in chosen
        ]

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    def _power_field(self) -> str:
        try:
            self._query(_POWER[:1])
        except NoSensorsError:
            return _POWER[1]
        return _POWER[0]

    def _query(self, fields: Sequence[str]) -> list[list[str]]:
        command = [self._command, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise NoSensorsError(f"`{self._command} --query-gpu` fails ({error})") from error
        rows = [[cell.strip() for cell in row] for row in csv.reader(done.stdout.splitlines())]
        return [row for row in rows if len(row) == len(fields)]


def _values(cells: Sequence[str], total: int | None) -> dict[str, float | None]:
    power, clock, memory_clock, temperature, busy, memory_busy, used = map(number, cells)
    used_bytes = None if used is None else used * _MIB
    return {
        "power_w": power,
        "clock_mhz": clock,
        "memory_clock_mhz": memory_clock,
        "temperature_c": temperature,
        "utilization_percent": busy,
        "memory_utilization_percent": memory_busy,
        "vram_used_bytes": used_bytes,
        "vram_percent": percent(used_bytes, total),
    }


def _described(row: Sequence[str]) -> SensorGpu:
    index, pci, uuid, name, total, limit = row
    mib = number(total)
    return SensorGpu(
        int(index),
        pci=pci.lower(),
        uuid=uuid,
        name=name,
        memory_bytes=None if mib is None else int(mib * _MIB),
        power_limit_w=number(limit),
    )
