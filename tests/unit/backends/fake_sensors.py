"""Fake sources of readings: an NVML library, an amdsmi module, a sysfs tree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def nvml_library(folder: Path) -> Path:
    """libnvidia-ml.so.1 in the folder, compiled; skips where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is here")
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(library), str(HERE / "fake_nvml.c")],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return library


AMDSMI = """
import enum


class AmdSmiException(Exception):
    pass


class AmdSmiClkType(enum.Enum):
    GFX = 1
    MEM = 2


class AmdSmiTemperatureType(enum.Enum):
    EDGE = 0
    HOTSPOT = 1


class AmdSmiTemperatureMetric(enum.Enum):
    CURRENT = 0


class AmdSmiMemoryType(enum.Enum):
    VRAM = 0


def amdsmi_init(): pass
def amdsmi_shut_down(): pass
def amdsmi_get_processor_handles(): return [0, 1]
def amdsmi_get_gpu_asic_info(h): return {"market_name": "AMD Instinct MI250X"}
def amdsmi_get_gpu_device_bdf(h): return f"0000:C{h}:00.0"
def amdsmi_get_gpu_device_uuid(h): return f"uuid-{h}"
def amdsmi_get_power_cap_info(h): return {"power_cap": 560000000}
def amdsmi_get_power_info(h):
    if h: return {"socket_power": "N/A", "current_socket_power": "N/A", "average_socket_power": ZERO_OR_NA}
    return {"socket_power": "N/A", "current_socket_power": 4294967295, "average_socket_power": 312}
def amdsmi_get_clock_info(h, kind): return {"clk": 1700 if kind is AmdSmiClkType.GFX else 1600}
def amdsmi_get_temp_metric(h, kind, metric):
    if kind is AmdSmiTemperatureType.EDGE: raise AmdSmiException("not supported")
    return 61
def amdsmi_get_gpu_activity(h): return {"gfx_activity": 88, "umc_activity": "N/A", "mm_activity": "N/A"}
def amdsmi_get_energy_count(h): return {"energy_accumulator": 2_000_000, "counter_resolution": 15.3, "timestamp": 1}
def amdsmi_get_gpu_memory_total(h, kind): return 64 << 30
def amdsmi_get_gpu_memory_usage(h, kind): return 16 << 30
"""


def amdsmi_module(folder: Path, second_die: str = '"N/A"') -> Path:
    """A module `amdsmi` with the two dies of a package; the folder belongs on the path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "amdsmi.py").write_text(AMDSMI.replace("ZERO_OR_NA", second_die))
    return folder


def sysfs(root: Path, cards: list[dict[str, str]]) -> Path:
    """A tree with cards, each given as file -> content below its device; hwmon files have the prefix hwmon/."""
    drm = root / "sys/class/drm"
    drm.mkdir(parents=True)
    for number, files in enumerate(cards):
        device = root / f"sys/devices/pci0000:00/0000:{0xC1 + number:02x}:00.0"
        hwmon = device / "hwmon" / f"hwmon{number + 3}"
        hwmon.mkdir(parents=True)
        for name, content in {"vendor": "0x1002", **files}.items():
            inside = name.startswith("hwmon/")
            (hwmon / name.removeprefix("hwmon/") if inside else device / name).write_text(content + "\n")
        card = drm / f"card{number}"
        card.mkdir()
        (card / "device").symlink_to(device)
        (drm / f"card{number}-DP-1").mkdir()  # a connector
    return root


MI300X = {
    "hwmon/power1_input": "412000000",
    "hwmon/power1_cap": "750000000",
    "hwmon/freq1_label": "sclk",
    "hwmon/freq1_input": "2100000000",
    "hwmon/freq2_label": "mclk",
    "hwmon/freq2_input": "1300000000",
    "hwmon/temp2_label": "junction",
    "hwmon/temp2_input": "61000",
    "hwmon/temp3_label": "mem",
    "hwmon/temp3_input": "48000",
    "gpu_busy_percent": "97",
    "mem_busy_percent": "33",
    "mem_info_vram_total": str(192 << 30),
    "mem_info_vram_used": str(48 << 30),
    "unique_id": "5d1a",
    "product_name": "AMD Instinct MI300X",
}
