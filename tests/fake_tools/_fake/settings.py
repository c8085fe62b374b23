"""What a test asks of the stand-ins, by the environment: FAKE_ROCM, FAKE_GPU, FAKE_GPU_COUNT, FAKE_FAULT,
FAKE_SLOW, FAKE_NOW and FAKE_WORKLOAD."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass

Version = tuple[int, ...]

_SDK = {
    (6, 2): "0.4.0",
    (6, 3): "0.5.0",
    (6, 4): "0.6.0",
    (7, 0): "1.0.0",
    (7, 1): "1.1.0",
    (7, 12): "1.2.0",
    (7, 13): "1.3.0",
    (7, 14): "1.3.2",
    (10, 0): "1.3.5",
}


@dataclass(frozen=True)
class Gpu:
    """One kind of GPU, as the tools describe it."""

    gfx: str
    name: str
    device_id: str
    compute_units: int
    simds_per_cu: int
    dies: int
    wave_size: int
    waves_per_simd: int
    clock_mhz: int
    memory_clock_mhz: int
    memory_mb: int
    lds_kb: int
    power_cap_w: int
    shader_engines: int

    @property
    def is_instinct(self) -> bool:
        return self.gfx.startswith("gfx9")

    @property
    def senses_power(self) -> bool:
        return self.gfx != "gfx1151"  # amd-smi says N/A on this APU


GPUS = {
    gpu.gfx: gpu
    for gpu in (
        Gpu("gfx942", "AMD Instinct MI300X", "0x74a1", 304, 4, 8, 64, 8, 2100, 1300, 196592, 64, 750, 32),
        Gpu("gfx90a", "AMD Instinct MI210", "0x740f", 104, 4, 1, 64, 8, 1700, 1600, 65520, 64, 300, 8),
        Gpu("gfx1100", "Radeon RX 7900 XTX", "0x744c", 96, 2, 1, 32, 16, 2500, 1249, 24560, 64, 327, 6),
        Gpu("gfx1151", "Radeon 8060S Graphics", "0x1586", 40, 2, 1, 32, 16, 2900, 1000, 65536, 64, 120, 2),
    )
}
FIRST_NODE = 2  # two CPU sockets come first


def rocm() -> Version:
    return tuple(int(part) for part in rocm_text().split("."))


def rocm_text() -> str:
    return os.environ.get("FAKE_ROCM", "7.2")


def sdk_version() -> str:
    """The rocprofiler-sdk of that ROCm."""
    return [name for release, name in sorted(_SDK.items()) if release <= rocm()][-1]


def gpu() -> Gpu:
    return GPUS[os.environ.get("FAKE_GPU", "gfx942")]


def gpu_count() -> int:
    return int(os.environ.get("FAKE_GPU_COUNT", "1"))


def fault() -> tuple[str, str]:
    """Kind and detail: `empty:hip` -> ("empty", "hip")."""
    kind, _, detail = os.environ.get("FAKE_FAULT", "").partition(":")
    return kind, detail


def note_clocks(change: str) -> None:
    """Write down that clocks were locked or let go."""
    with open(os.environ["FAKE_CLOCKS"], "a", encoding="utf-8") as file:
        file.write(f"{change}\n")


def slow_s() -> float:
    return float(os.environ.get("FAKE_SLOW", "1.0"))


def boot_clock_ns() -> int:
    """Now, on the clock that the profilers record."""
    fixed = os.environ.get("FAKE_NOW")
    return int(fixed) if fixed else time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def hostname() -> str:
    return socket.gethostname()
