"""Sampler CSVs: every tool's columns give the same metrics in the same units."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.sniff import sniff
from rocm_perf.ingest.system import smi_csv
from tests.unit.ingest.damage import damaged_file

MADENGINE = (
    "time,Power(Watt) GPU0,Power(Watt) GPU1\n2025-03-01 10:00:00.123456,120.5,"
    "N/A\n2025-03-01 10:00:00.223456,121,99\n"
)
AMD_METRIC = (
    "timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,gfx_voltage,gfx_0_clk,mem_0_clk,edge,hotspot,mem,total_vram,used_vram\n"
    "1772939616,0,95,80,\"['N/A', 'N/A']\",350,850,1980,901,38,72,65,196592,283\n"
)
AMD_MONITOR = (
    "timestamp,gpu,power_usage,hotspot_temperature,gfx_clk,gfx,mem,vram_used\n1772939616.25,1,140,"
    "40,132,0,1,283\n"
)
AMD_UNITS = "GPU,GFX%,VRAM_USED\n0,5 %,14 MB\n1,87 %,1 GB\n"
ROCM = (
    "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status\n\n"
    "device,Temperature (Sensor edge) (C),Temperature (Sensor junction) (C),"
    "Average Graphics Package Power (W),VRAM Total Used Memory (B),mclk clock speed:\n"
    "card3,45.0,61.0,812.0,152471339008,(1300Mhz)\n\n"
    "device,GPU use (%)\ncard3,7\n"
)
NVIDIA = (
    "timestamp, index, name, power.draw [W], temperature.gpu, clocks.current.sm [MHz],"
    " memory.used [MiB], utilization.gpu [%]\n"
    "2026/09/11 04:19:41.982, 0, NVIDIA B200, 187.80 W, 33, 120 MHz, 10 MiB, 0 %\n"
    "2026/09/11 04:19:42.994, 1, NVIDIA B200, [N/A], 62, 1965 MHz, 20 MiB, 97 %\n"
)
ALL = {
    "madengine": MADENGINE,
    "metric": AMD_METRIC,
    "monitor": AMD_MONITOR,
    "units": AMD_UNITS,
    "rocm-smi": ROCM,
    "nvidia-smi": NVIDIA,
}


def _source(folder: Path, text: str) -> Source:
    file = folder / "anything.dat"
    file.write_text(text)
    return Source(file)


def _read(folder: Path, text: str) -> Part:
    source = _source(folder, text)
    adapter = sniff(source)
    assert adapter.name == "smi-csv"
    return adapter.read(source)


def _values(part: Part, agent: int) -> dict[str, float]:
    return {
        row["metric"]: row["value"]
        for row in part.tables["samples"].rows(named=True)
        if row["agent_id"] == agent
    }


def test_madengine(tmp_path: Path) -> None:
    part = _read(tmp_path, MADENGINE)
    assert part.tables["samples"].select("time_ns", "agent_id", "metric", "value", "unit").rows() == [
        (1740823200123456000, 0, "power_w", 120.5, "W"),
        (1740823200223456000, 0, "power_w", 121.0, "W"),
        (1740823200223456000, 1, "power_w", 99.0, "W"),
    ]
    assert (part.tool, part.clock) == ("madengine", "unknown")
    assert "time zone" in part.notices[0]


def test_madengine_memory_is_a_share(tmp_path: Path) -> None:
    part = _read(tmp_path, "time,vram(%) GPU2\n2025-03-01 10:00:00.5,12.5\n")
    assert _values(part, 2) == {"vram_percent": 12.5}


def test_amd_smi_metric(tmp_path: Path) -> None:
    part = _read(tmp_path, AMD_METRIC)
    assert _values(part, 0) == {
        "utilization_percent": 95,
        "memory_utilization_percent": 80,
        "power_w": 350,
        "gfx_voltage_v": pytest.approx(0.85),
        "clock_mhz": 1980,
        "memory_clock_mhz": 901,
        "temperature_edge_c": 38,
        "temperature_c": 72,
        "temperature_memory_c": 65,
        "vram_total_bytes": 196592 * 2**20,
        "vram_used_bytes": 283 * 2**20,
    }
    assert set(part.tables["samples"]["time_ns"]) == {1772939616 * 10**9}
    assert (part.tool, part.clock) == ("amd-smi", "epoch")


def test_amd_smi_monitor_calls_the_memory_load_mem(tmp_path: Path) -> None:
    part = _read(tmp_path, AMD_MONITOR)
    values = _values(part, 1)
    assert (values["memory_utilization_percent"], values["utilization_percent"], values["power_w"]) == (
        1,
        0,
        140,
    )
    assert set(part.tables["samples"]["time_ns"]) == {1772939616_250000000}


def test_units_in_the_cells(tmp_path: Path) -> None:
    part = _read(tmp_path, AMD_UNITS)
    assert _values(part, 0) == {"utilization_percent": 5, "vram_used_bytes": 14 * 2**20}
    assert _values(part, 1) == {"utilization_percent": 87, "vram_used_bytes": 2**30}
    assert part.tables["samples"]["time_ns"].null_count() == 4


def test_rocm_smi_with_a_warning_and_two_tables(tmp_path: Path) -> None:
    part = _read(tmp_path, ROCM)
    assert _values(part, 3) == {
        "temperature_edge_c": 45,
        "temperature_c": 61,
        "power_w": 812,
        "vram_used_bytes": 152471339008,
        "memory_clock_mhz": 1300,
        "utilization_percent": 7,
    }
    assert part.tool == "rocm-smi"


def test_nvidia_smi(tmp_path: Path) -> None:
    part = _read(tmp_path, NVIDIA)
    assert _values(part, 0) == {
        "power_w": 187.8,
        "temperature_c": 33,
        "clock_mhz": 120,
        "vram_used_bytes": 10 * 2**20,
        "utilization_percent": 0,
    }
    assert "power_w" not in _values(part, 1)
    assert part.tables["agents"].select("agent_id", "name", "vendor").rows() == [
        (0, "NVIDIA B200", "NVIDIA"),
        (1, "NVIDIA B200", "NVIDIA"),
    ]
    assert part.tables["samples"]["time_ns"].min() == 1789100381982000000


def test_a_loop_that_prints_its_header_every_time(tmp_path: Path) -> None:
    assert _read(tmp_path, AMD_UNITS * 3).tables["samples"].height == 12


def test_a_row_cut_off_is_not_read_as_a_smaller_number(tmp_path: Path) -> None:
    part = _read(tmp_path, AMD_METRIC + "1772939617,0,9")
    assert set(part.tables["samples"]["time_ns"]) == {1772939616 * 10**9}
    assert [loss.records for loss in part.losses] == [1]


def test_lines_of_another_program_are_counted(tmp_path: Path) -> None:
    part = _read(tmp_path, AMD_UNITS + "some, text, of, another, program\n1,50 %,1 GB\n")
    assert part.tables["samples"].height == 6
    assert [loss.records for loss in part.losses] == [1]


def test_nothing_but_na_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, "timestamp,gpu,socket_power\n1772939616,0,N/A\n")


@pytest.mark.parametrize(
    "header",
    [
        "Name,Calls,TotalDurationNs",
        "device,HBMBw,HBMBwLow",
        "Kind,Agent_Id,Queue_Id",
        "a,b",
        "time,value",
        "",
    ],
)
def test_other_tables_are_left_alone(tmp_path: Path, header: str) -> None:
    assert not smi_csv.ADAPTERS[0].claims(Peek(_source(tmp_path, header + "\n1,2,3\n")))


@pytest.mark.parametrize("filler", [",", " ", "gpu,", "[", "gpu,\n", '"'], ids=repr)
def test_a_file_of_nothing_but_filler_is_looked_at_quickly(tmp_path: Path, filler: str) -> None:
    source = _source(tmp_path, filler * (60_000 // len(filler)))
    smi_csv.ADAPTERS[0].claims(Peek(source))
    with suppress(RocmPerfError):
        smi_csv.read(source)


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_any_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    file = damaged_file(tmp_path_factory, ALL[name].encode(), data)
    smi_csv.ADAPTERS[0].claims(Peek(Source(file)))
    with suppress(RocmPerfError):
        smi_csv.read(Source(file))
