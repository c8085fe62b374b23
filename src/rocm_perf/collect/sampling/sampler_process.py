"""The process that reads the sensors while a program runs, started as a module with its settings as the argument.

It stops when its standard input ends, which also happens when the process that started it is killed. Standard library
only, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocm_perf.backends.sensors import METRICS, NoSensorsError, Reading, SensorGpu, Sensors, boot_ns
from rocm_perf.collect.sampling.sample_file import MOST_ROWS, SampleFile

EXIT_NOTHING_TO_READ = 3
EXIT_CANNOT_WRITE = 6
READY = "ready"
_COMMAND_S = 1.0  # what amd-smi takes for a reading, of which most is the start of its interpreter
# A last reading after the stop is worth it where it takes no time that anyone notices.
_QUICK_NS = 100_000_000


@dataclass(frozen=True)
class Gpu:
    """A GPU as the machine's probe knows it."""

    index: int
    pci: str = ""
    uuid: str = ""
    gfx: str = ""
    name: str = ""
    node: int | None = None  # HSA node
    ordinal: int | None = None  # as the program counts it; None: the program cannot see it
    shares_power: bool = False  # it is one of several in a package with a single power sensor


@dataclass(frozen=True)
class Settings:
    """The settings of the process."""

    output: str
    interval_s: float
    metrics: tuple[str, ...]
    vendor: str
    gpus: tuple[Gpu, ...] = ()
    rocm_paths: tuple[str, ...] = ()
    host: str = ""
    root: str = "/"
    most_rows: int = MOST_ROWS  # of the file, for each GPU


@dataclass
class Tally:
    """How the sampling went."""

    readings: int = 0
    missed: int = 0  # ticks that passed while a reading was still being taken
    failed: int = 0  # readings that the source did not give
    read_ns: int = 0
    longest_read_ns: int = 0

    def add(self, spent_ns: int) -> None:
        self.readings += 1
        self.read_ns += spent_ns
        self.longest_read_ns = max(self.longest_read_ns, spent_ns)


@dataclass(frozen=True)
class Opened:
    """The source that was taken, and why not an earlier one."""

    sensors: Sensors
    passed_over: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """The GPUs that are read: the source's number of each, and the machine's."""

    gpus: dict[int, tuple[SensorGpu, Gpu]] = field(default_factory=dict)

    def renumbered(self, readings: list[Reading]) -> list[Reading]:
        return [
            Reading(
                self.gpus[reading.index][1].index, reading.time_ns, _own(reading, self.gpus[reading.index][1])
            )
            for reading in readings
        ]


def main(argv: Sequence[str]) -> int:
    settings = decoded(argv[1])
    metrics = [name for group in settings.metrics for name in METRICS[group]]
    try:
        opened = open_sensors(sources(settings), metrics, settings.interval_s)
    except NoSensorsError as error:
        print(error, file=sys.stderr)
        return EXIT_NOTHING_TO_READ
    try:
        record(settings, opened, metrics)
    except OSError as error:
        print(f"cannot write {settings.output}: {error.strerror}", file=sys.stderr)
        return EXIT_CANNOT_WRITE
    finally:
        opened.sensors.close()
    return 0


def record(settings: Settings, opened: Opened, metrics: Sequence[str]) -> None:
    """Write readings to the file until the end."""
    chosen = choose(opened.sensors.gpus, settings.gpus)
    file = SampleFile(
        Path(settings.output), metrics, interval_s=settings.interval_s, most_rows=settings.most_rows
    )

    def read() -> list[Reading]:
        return chosen.renumbered(opened.sensors.read(tuple(chosen.gpus), metrics))

    with closing(file):
        first = read()
        file.begin({**_about(settings, opened, chosen), "notices": [*opened.notices, *pairs(chosen, first)]})
        file.add(first)
        print(READY, flush=True)
        start_cpu_s = _cpu_s()
        tally = sample(lambda: file.add(read()), int(settings.interval_s * 1e9), _stopped)
        file.end(_account(tally, start_cpu_s))


def sample(
    read: Callable[[], None],
    interval_ns: int,
    stopped: Callable[[float], bool],
    clock: Callable[[], int] = time.monotonic_ns,
) -> Tally:
    """Read at start + n * interval until `stopped(seconds)`, which waits that long, says so. A tick that is missed is
    skipped, so that readings neither drift nor bunch up."""
    tally = Tally()
    start, tick = clock(), 0
    while True:
        now = clock()
        due = max(tick + 1, (now - start) // interval_ns + 1)
        tally.missed += due - tick - 1
        tick = due
        ended = stopped((start + tick * interval_ns - now) / 1e9)
        if ended and tally.readings and tally.read_ns / tally.readings > _QUICK_NS:
            return tally
        began = clock()
        try:
            read()
        except NoSensorsError:
            tally.failed += 1
        tally.add(clock() - began)
        if ended:
            return tally


def sources(settings: Settings) -> list[tuple[str, Callable[[], Sensors]]]:
    """The ways to read GPUs of this vendor, the best first. AMD's command stands behind the driver's own files where
    it could not keep up with the interval."""
    from rocm_perf.backends.amd.smi import AmdSmiCommand, AmdSmiModule
    from rocm_perf.backends.amd.sysfs import AmdSysfs
    from rocm_perf.backends.nvidia.nvml import Nvml
    from rocm_perf.backends.nvidia.smi import NvidiaSmiCommand

    amd: list[tuple[str, Callable[[], Sensors]]] = [
        ("amdsmi", lambda: AmdSmiModule(settings.rocm_paths)),
        ("amd-smi", AmdSmiCommand),
        ("sysfs", lambda: AmdSysfs(Path(settings.root))),
    ]
    if settings.interval_s < _COMMAND_S:
        amd[1], amd[2] = amd[2], amd[1]
    nvidia: list[tuple[str, Callable[[], Sensors]]] = [("nvml", Nvml), ("nvidia-smi", NvidiaSmiCommand)]
    return {"AMD": amd, "NVIDIA": nvidia}.get(settings.vendor, amd + nvidia)


def open_sensors(
    candidates: Sequence[tuple[str, Callable[[], Sensors]]], metrics: Sequence[str], interval_s: float
) -> Opened:
    """The first source that has a value and keeps up with the interval; where none keeps up, the first with a value."""
    reasons: list[str] = []
    slow: Sensors | None = None
    for name, start in candidates:
        try:
            sensors = start()
            began = time.monotonic()
            readings = sensors.read([gpu.index for gpu in sensors.gpus], metrics)
            took = time.monotonic() - began
        except NoSensorsError as error:
            reasons.append(str(error))
            continue
        if not any(reading.values for reading in readings):
            reasons.append(f"{name} has none of the values that were asked for")
        elif took <= interval_s:
            return Opened(sensors, tuple(reasons))
        else:
            reasons.append(f"{name} takes {took:.2f} s for a reading")
            slow = slow or sensors
    if slow is None:
        raise NoSensorsError("; ".join(reasons) or "there is no source of readings")
    notice = f"{slow.source} cannot be read every {interval_s:g} s: readings come as fast as it gives them"
    return Opened(slow, tuple(reasons), (notice,))


def choose(sensed: Sequence[SensorGpu], machine: Sequence[Gpu]) -> Chosen:
    """The GPUs of the machine that the program can see, matched by PCI address, else by uuid, else by number."""
    if not machine:
        return Chosen({gpu.index: (gpu, Gpu(gpu.index, ordinal=gpu.index)) for gpu in sensed})
    pairs = {gpu.index: (gpu, match) for gpu in sensed if (match := _match(gpu, machine)) is not None}
    return Chosen({index: pair for index, pair in pairs.items() if pair[1].ordinal is not None} or pairs)


def _match(gpu: SensorGpu, machine: Sequence[Gpu]) -> Gpu | None:
    by_pci = {_pci(other.pci): other for other in machine if other.pci}
    by_uuid = {other.uuid.lower(): other for other in machine if other.uuid}
    by_index = {other.index: other for other in machine}
    if gpu.pci and by_pci:
        return by_pci.get(_pci(gpu.pci))
    return by_uuid.get(gpu.uuid.lower()) or by_index.get(gpu.index)


def _pci(address: str) -> str:
    """A PCI address in one form: NVIDIA writes the domain with eight digits, everyone else with four."""
    domain, _, rest = address.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _own(reading: Reading, gpu: Gpu) -> dict[str, float]:
    """The second die of a package has no power sensor, and some releases say 0 W for that."""
    values = reading.values
    if gpu.shares_power and not values.get("power_w", 1.0):
        return {name: value for name, value in values.items() if name != "power_w"}
    return values


def pairs(chosen: Chosen, readings: Sequence[Reading]) -> list[str]:
    """What to say of GPUs without power: two dies of a package share one sensor, an APU has none."""
    gpus = {gpu.index: gpu for _, gpu in chosen.gpus.values()}
    has_power = {reading.index: "power_w" in reading.values for reading in readings}
    notices = []
    for index, gpu in sorted(gpus.items()):
        if has_power.get(index, True) or not any(has_power.values()):
            continue
        if gpu.shares_power and has_power.get(index - 1):
            notices.append(
                f"GPU {index} is the second die of a package: the power of GPU {index - 1} is that of both"
            )
        else:
            notices.append(f"GPU {index} does not tell its power")
    return notices


def decoded(text: str) -> Settings:
    fields: dict[str, Any] = json.loads(text)
    gpus = tuple(Gpu(**gpu) for gpu in fields.pop("gpus"))
    fields |= {name: tuple(fields[name]) for name in ("metrics", "rocm_paths")}
    return Settings(**fields, gpus=gpus)


def _about(settings: Settings, opened: Opened, chosen: Chosen) -> dict[str, object]:
    return {
        "host": settings.host,
        "vendor": settings.vendor,
        "source": opened.sensors.source,
        "passed_over": opened.passed_over,
        "interval_s": settings.interval_s,
        "boot_ns": boot_ns(),
        "realtime_ns": time.time_ns(),
        "gpus": [
            {
                "gpu": gpu.index,
                "node": gpu.node,
                "ordinal": gpu.ordinal,
                "gfx": gpu.gfx,
                "name": gpu.name or sensor.name,
                "uuid": gpu.uuid or sensor.uuid,
                "pci": gpu.pci or sensor.pci,
                "memory_bytes": sensor.memory_bytes,
                "power_limit_w": sensor.power_limit_w,
            }
            for sensor, gpu in chosen.gpus.values()
        ],
    }


def _cpu_s() -> float:
    """The processor time so far, that of commands included."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _account(tally: Tally, start_cpu_s: float) -> dict[str, object]:
    """What the sampling itself cost."""
    return {
        "readings": tally.readings,
        "missed": tally.missed,
        "failed": tally.failed,
        "read_mean_ns": tally.read_ns // max(1, tally.readings),
        "read_longest_ns": tally.longest_read_ns,
        "start_cpu_s": round(start_cpu_s, 4),
        "cpu_s": round(_cpu_s() - start_cpu_s, 4),
        "boot_ns": boot_ns(),
        "realtime_ns": time.time_ns(),
    }


def _stopped(seconds: float) -> bool:
    """Wait, and return whether standard input has ended meanwhile."""
    readable, _, _ = select.select([sys.stdin], [], [], max(0.0, seconds))
    return bool(readable)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
