"""Every source of readings: units, what is missing, and what a release has got wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.backends.amd.smi import AmdSmiCommand, AmdSmiModule
from rocm_perf.backends.amd.sysfs import AmdSysfs
from rocm_perf.backends.nvidia.nvml import Nvml
from rocm_perf.backends.nvidia.smi import NvidiaSmiCommand
from rocm_perf.backends.sensors import (
    METRICS,
    NoSensorsError,
    boot_ns,
    cap_in_watts,
    in_watts,
    number,
    stamped,
)
from tests.fake_tools import fake_path
from tests.unit.backends import fake_sensors

ALL = [name for group in METRICS.values() for name in group]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("N/A", None), ("[N/A]", None), ("", None), (None, None), (True, None), ("nan", None), ("inf", None),
        (0xFFFF, None), (0xFFFFFFFF, None), (0xFFFFFFFFFFFFFFFF, None), (0, 0.0), ("12.5", 12.5), (-3, -3.0),
    ],
)  # fmt: skip
def test_what_is_no_reading_is_not_zero(text: object, value: float | None) -> None:
    assert number(text) == value


@given(st.floats(0.5, 1000), st.sampled_from([1.0, 1e3, 1e6]))
def test_power_in_any_unit_comes_out_in_watts_below_twice_the_cap(watts: float, scale: float) -> None:
    found = in_watts(watts * scale, 750)
    assert found is not None
    assert found <= 1500
    if watts * scale > 1500 and watts > 1.5:  # beyond doubt
        assert found == pytest.approx(watts)


def test_power_without_a_cap_is_taken_as_it_is() -> None:
    assert in_watts(750_000, None) == 750_000
    assert in_watts(None, 750) is None
    assert in_watts(1e12, 750) is None
    assert (cap_in_watts(560_000_000), cap_in_watts(560), cap_in_watts(0), cap_in_watts(None)) == (
        560,
        560,
        None,
        None,
    )


def test_a_reading_is_stamped_with_its_middle() -> None:
    before = boot_ns()
    middle, value = stamped(boot_ns)
    assert before <= middle <= boot_ns()
    assert abs(middle - value) < 10**9


@pytest.fixture
def amdsmi(tmp_path: Path) -> Iterator[Path]:
    yield fake_sensors.amdsmi_module(tmp_path / "rocm" / "share" / "amd_smi")
    sys.modules.pop("amdsmi", None)
    sys.path[:] = [entry for entry in sys.path if not entry.startswith(str(tmp_path))]


def test_amdsmi_in_the_rocm_folder_is_found_and_read(tmp_path: Path, amdsmi: Path) -> None:
    sensors = AmdSmiModule([str(tmp_path / "rocm")])
    first, second = sensors.read([0, 1], ALL)
    assert first.values == {
        "power_w": 312,
        "clock_mhz": 1700,
        "memory_clock_mhz": 1600,
        "temperature_c": 61,
        "utilization_percent": 88,
        "energy_j": pytest.approx(30.6),
        "vram_used_bytes": 16 << 30,
        "vram_percent": 25,
    }
    assert "power_w" not in second.values
    assert [(gpu.pci, gpu.memory_bytes, gpu.power_limit_w) for gpu in sensors.gpus] == [
        ("0000:c0:00.0", 64 << 30, 560),
        ("0000:c1:00.0", 64 << 30, 560),
    ]
    sensors.close()


def test_only_what_is_asked_for_is_read(tmp_path: Path, amdsmi: Path) -> None:
    sensors = AmdSmiModule([str(tmp_path / "rocm")])
    assert set(sensors.read([0], METRICS["memory"])[0].values) == {"vram_used_bytes", "vram_percent"}
    assert "vram_percent" not in sensors.read([0], METRICS["power"])[0].values


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise KeyError('libamd_smi.so')", "KeyError"),
        ("raise OSError('libamd_smi.so: no such file')", "OSError"),
        ("raise AttributeError('undefined symbol')", "AttributeError"),
        ("raise ImportError", "ImportError"),
        ("class AmdSmiException(Exception): pass\ndef amdsmi_init(): raise AmdSmiException('34')", "start"),
        ("def amdsmi_init(): pass\ndef amdsmi_get_processor_handles(): return []", "no GPU"),
    ],
)
def test_an_amdsmi_that_does_not_work_says_why(tmp_path: Path, amdsmi: Path, code: str, words: str) -> None:
    (amdsmi / "amdsmi.py").write_text(code)
    with pytest.raises(NoSensorsError, match=words):
        AmdSmiModule([str(tmp_path / "rocm")])


def test_an_older_amdsmi_without_a_function_gives_the_rest(tmp_path: Path, amdsmi: Path) -> None:
    text = fake_sensors.AMDSMI.replace("ZERO_OR_NA", "0").replace("def amdsmi_get_energy_count", "def _old")
    (amdsmi / "amdsmi.py").write_text(text.replace("def amdsmi_get_gpu_device_uuid", "def _older"))
    sensors = AmdSmiModule([str(tmp_path / "rocm")])
    values = sensors.read([0], ALL)[0].values
    assert values["power_w"] == 312
    assert "energy_j" not in values
    assert sensors.gpus[0].uuid == ""


@pytest.mark.parametrize("release", ["6.4", "7.2"])
def test_the_command_amd_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    environment = fake_path(tmp_path, ["amd-smi"], FAKE_GPU_COUNT="2", FAKE_ROCM=release)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    sensors = AmdSmiCommand()
    readings = sensors.read([1], ALL)
    assert [reading.index for reading in readings] == [1]
    values = readings[0].values
    assert (values["power_w"], values["clock_mhz"], values["temperature_c"]) == (150, 132, 41)
    assert values["vram_used_bytes"] == 284 << 20
    assert 0 < values["vram_percent"] < 1
    assert "energy_j" not in values
    assert sensors.gpus[1].pci == "0000:c4:00.0"
    assert sensors.gpus[1].power_limit_w == 750


def test_an_apu_says_n_a(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in fake_path(tmp_path, ["amd-smi"], FAKE_GPU="gfx1151").items():
        monkeypatch.setenv(name, value)
    values = AmdSmiCommand().read([0], ALL)[0].values
    assert "power_w" not in values
    assert values["vram_used_bytes"] > 0


def test_amd_smi_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in fake_path(tmp_path, ["amd-smi"], FAKE_FAULT="permission").items():
        monkeypatch.setenv(name, value)
    with pytest.raises(NoSensorsError, match="amd-smi metric --json"):
        AmdSmiCommand()
    with pytest.raises(NoSensorsError):
        AmdSmiCommand(str(tmp_path / "absent"))


def test_sysfs_units_and_labels(tmp_path: Path) -> None:
    bare = {"mem_info_vram_used": "5", "gpu_busy_percent": "", "hwmon/power1_average": "garbage"}
    other = {"vendor": "0x10de"}
    sensors = AmdSysfs(fake_sensors.sysfs(tmp_path, [fake_sensors.MI300X, bare, other]))
    assert [gpu.pci for gpu in sensors.gpus] == ["0000:c1:00.0", "0000:c2:00.0"]
    first, second = sensors.read([0, 1], ALL)
    assert first.values == {
        "power_w": 412,
        "clock_mhz": 2100,
        "memory_clock_mhz": 1300,
        "temperature_c": 61,
        "utilization_percent": 97,
        "memory_utilization_percent": 33,
        "vram_used_bytes": 48 << 30,
        "vram_percent": 25,
    }
    assert second.values == {"vram_used_bytes": 5}
    assert sensors.gpus[0].power_limit_w == 750
    assert sensors.gpus[0].name == "AMD Instinct MI300X"


def test_a_machine_without_amd_gpus_has_no_sysfs_sensors(tmp_path: Path) -> None:
    with pytest.raises(NoSensorsError, match="no AMD GPU"):
        AmdSysfs(tmp_path)


def test_nvml(tmp_path: Path) -> None:
    sensors = Nvml(str(fake_sensors.nvml_library(tmp_path)))
    first, second = sensors.read([0, 1], ALL)
    assert first.values == {
        "power_w": 650.25,
        "clock_mhz": 1980,
        "memory_clock_mhz": 3201,
        "temperature_c": 41,
        "utilization_percent": 100,
        "memory_utilization_percent": 7,
        "energy_j": 5_000_000.0,
        "vram_used_bytes": 36 << 30,
        "vram_percent": 25,
    }
    assert second.values == {
        "power_w": 90.5,
        "clock_mhz": 1980,
        "memory_clock_mhz": 3201,
        "temperature_c": 41,
        "vram_used_bytes": 20 << 30,
        "vram_percent": 25,
    }
    assert first.time_ns <= second.time_ns
    gpu = sensors.gpus[1]
    assert (gpu.pci, gpu.uuid, gpu.name) == ("00000000:07:00.0", "GPU-00000001-aaaa", "NVIDIA Fake")
    assert (gpu.memory_bytes, gpu.power_limit_w) == (80 << 30, 700)
    sensors.close()


def test_nvml_tells_whether_clocks_are_held_down(tmp_path: Path) -> None:
    sensors = Nvml(str(fake_sensors.nvml_library(tmp_path)))
    assert [one.values for one in sensors.read([0, 1], ["throttled"])] == [{"throttled": 1}, {"throttled": 0}]
    sensors.close()


def test_nvml_that_does_not_work_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoSensorsError, match="cannot be loaded"):
        Nvml(str(tmp_path / "absent.so"))
    library = str(fake_sensors.nvml_library(tmp_path))
    monkeypatch.setenv("FAKE_NVML_GPUS", "0")
    with pytest.raises(NoSensorsError, match="no GPU"):
        Nvml(library)
    monkeypatch.setenv("FAKE_NVML_BROKEN", "1")
    with pytest.raises(NoSensorsError, match="999"):
        Nvml(library)


_NVIDIA_SMI = """#!{python}
import sys
query = sys.argv[1].removeprefix("--query-gpu=").split(",")
known = {{"index": "0 1", "pci.bus_id": "00000000:06:00.0 00000000:07:00.0", "uuid": "GPU-a GPU-b",
          "name": "H200 H200", "memory.total": "143771 143771", "enforced.power.limit": "700.00 [N/A]",
          {instant} "power.draw": "88.1 [N/A]", "clocks.sm": "1980 345", "clocks.mem": "3201 3201",
          "temperature.gpu": "41 30", "utilization.gpu": "100 0", "utilization.memory": "7 0",
          "memory.used": "1024 0"}}
if not set(query) <= set(known):
    sys.exit(2)
for gpu in (0, 1):
    print(", ".join(known[field].split()[gpu] for field in query))
"""


@pytest.mark.parametrize(("instant", "power"), [('"power.draw.instant": "91.5 [N/A]",', 91.5), ("", 88.1)])
def test_the_command_nvidia_smi(tmp_path: Path, instant: str, power: float) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text(_NVIDIA_SMI.format(python=sys.executable, instant=instant))
    command.chmod(0o755)
    sensors = NvidiaSmiCommand(str(command))
    first, second = sensors.read([0, 1], ALL)
    assert first.values["power_w"] == power
    assert first.values["vram_used_bytes"] == 1 << 30
    assert first.values["vram_percent"] == pytest.approx(100 * 1024 / 143771)
    assert "power_w" not in second.values
    assert second.values["vram_used_bytes"] == 0
    assert [reading.index for reading in sensors.read([1], ALL)] == [1]
    assert sensors.gpus[1].power_limit_w is None
    with pytest.raises(NoSensorsError, match="query-gpu"):
        NvidiaSmiCommand(os.devnull)
