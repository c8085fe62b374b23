"""amd-smi and rocm-smi: the same readings and GPUs from text, JSON and table."""

from __future__ import annotations

import json
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
from rocm_perf.ingest.system import sysinfo
from tests.unit.ingest.damage import damaged_file

METRIC = """GPU: 0
    USAGE:
        GFX_ACTIVITY: 95 %
        UMC_ACTIVITY: N/A
    POWER:
        SOCKET_POWER: 350 W
        GFX_VOLTAGE: 850 mV
    CLOCK:
        GFX_0:
            CLK: 1980 MHz
            MIN_CLK: 500 MHz
    TEMPERATURE:
        EDGE: 29 °C
        HOTSPOT: N/A
        MEM: 65 °C
    MEM_USAGE:
        TOTAL_VRAM: 65536 MB
        USED_VRAM: 4004 MB
GPU: 1
    POWER:
        SOCKET_POWER: 0 W
"""
STATIC = """GPU: 0
    ASIC:
        MARKET_NAME: Radeon 8060S Graphics
        NUM_COMPUTE_UNITS: 40
        TARGET_GRAPHICS_VERSION: gfx1151
    VRAM:
        SIZE: 65536 MB
    CLOCK:
        SYS:
            FREQUENCY_LEVELS:
                LEVEL 0:
                    VALUE: 600
                    UNIT: MHz
                LEVEL 1:
                    VALUE: 2900
                    UNIT: MHz
"""
LIST = "GPU: 0\n    BDF: 0000:c3:00.0\n    UUID: 00ff1586-0000\n    KFD_ID: 6490\n    NODE_ID: 1\n"
METRIC_JSON = json.dumps(
    {
        "gpu_data": [
            {
                "gpu": 0,
                "usage": {"gfx_activity": {"value": 95, "unit": "%"}, "umc_activity": "N/A"},
                "power": {
                    "socket_power": {"value": 350, "unit": "W"},
                    "gfx_voltage": {"value": 850, "unit": "mV"},
                },
                "clock": {"gfx_0": {"clk": {"value": 1980, "unit": "MHz"}}},
                "temperature": {"edge": {"value": 29, "unit": "C"}, "mem": {"value": 65, "unit": "C"}},
                "mem_usage": {
                    "total_vram": {"value": 65536, "unit": "MB"},
                    "used_vram": {"value": 4004, "unit": "MB"},
                },
            },
            {"gpu": 1, "power": {"socket_power": {"value": 0, "unit": "W"}}},
        ]
    }
)
CARDS = json.dumps(
    {
        "card0": {
            "Card Series": "Instinct",
            "GPU use (%)": "55",
            "Average Graphics Package Power (W)": "98.0",
            "VRAM Total Memory (B)": "17163091968",
            "sclk clock speed:": "(1300Mhz)",
        },
        "system": {},
    }
)
TABLE = """============================ ROCm System Management Interface ============================
====================================== Concise Info ======================================
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
        (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
==========================================================================================
0       4     0x74a0,   50375  48.0°C      110.0W    NPS1, SPX, 0        98Mhz   1300Mhz  0%   auto  550.0W  3%     17%
        AMD Instinct MI300X
1       5     0x74a0,   20890  53.0°C      N/A       NPS1, SPX, 0        99Mhz   1200Mhz  0%   auto  550.0W  N/A    N/A
================================== End of ROCm SMI Log ===================================
"""
ALL = {"metric": METRIC, "static": STATIC, "list": LIST, "json": METRIC_JSON, "cards": CARDS, "table": TABLE}


def _source(folder: Path, text: str) -> Source:
    file = folder / "anything.dat"
    file.write_text(text, encoding="utf-8")
    return Source(file)


def _read(source: Source) -> Part:
    peek = Peek(source)
    return next(adapter for adapter in sysinfo.ADAPTERS if adapter.claims(peek)).read(source)


def _values(part: Part, agent: int) -> dict[str, float]:
    return {
        row["metric"]: row["value"]
        for row in part.tables["samples"].rows(named=True)
        if row["agent_id"] == agent
    }


@pytest.mark.parametrize(
    "text",
    [METRIC, METRIC_JSON, json.dumps(json.loads(METRIC_JSON)["gpu_data"], indent=4)],
    ids=["text", "json", "older json"],
)
def test_amd_smi_metric_says_the_same_in_every_form(tmp_path: Path, text: str) -> None:
    part = _read(_source(tmp_path, text))
    assert _values(part, 0) == {
        "utilization_percent": 95,
        "power_w": 350,
        "gfx_voltage_v": pytest.approx(0.85),
        "clock_mhz": 1980,
        "temperature_edge_c": 29,
        "temperature_memory_c": 65,
        "vram_total_bytes": 65536 * 2**20,
        "vram_used_bytes": 4004 * 2**20,
    }
    assert _values(part, 1) == {"power_w": 0}
    assert "agents" not in part.tables


def test_amd_smi_static_and_list(tmp_path: Path) -> None:
    static = _read(_source(tmp_path, STATIC)).tables["agents"].row(0, named=True)
    assert (static["gfx"], static["name"], static["cu_count"], static["clock_mhz"]) == (
        "gfx1151",
        "Radeon 8060S Graphics",
        40,
        2900.0,
    )
    assert static["memory_bytes"] == 1 << 36
    listed = _read(_source(tmp_path, LIST)).tables["agents"].row(0, named=True)
    assert (listed["agent_id"], listed["logical_index"], listed["uuid"]) == (1, 0, "00ff1586-0000")


def test_amd_smi_that_knows_nothing(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(_source(tmp_path, "GPU: 0\n    POWER:\n        SOCKET_POWER: N/A\n"))


@pytest.mark.parametrize("text", [METRIC_JSON, CARDS, LIST, TABLE], ids=["json", "cards", "list", "table"])
def test_no_other_format_claims_it_first(tmp_path: Path, text: str) -> None:
    assert sniff(_source(tmp_path, text)).name.startswith(("amd-smi", "rocm-smi"))


def test_rocm_smi_json(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, CARDS))
    assert _values(part, 0) == {
        "utilization_percent": 55,
        "power_w": 98,
        "vram_total_bytes": 17163091968,
        "clock_mhz": 1300,
    }
    assert part.tables["agents"]["name"].to_list() == ["Instinct"]


def test_rocm_smi_table(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, TABLE))
    assert _values(part, 4) == {
        "temperature_c": 48,
        "power_w": 110,
        "power_limit_w": 550,
        "clock_mhz": 98,
        "memory_clock_mhz": 1300,
        "vram_percent": 3,
        "utilization_percent": 17,
    }
    assert part.tables["agents"].select("agent_id", "logical_index", "name").rows() == [
        (4, 0, "AMD Instinct MI300X"),
        (5, 1, None),
    ]


def test_a_missing_power_is_not_taken_from_its_limit(tmp_path: Path) -> None:
    values = _values(_read(_source(tmp_path, TABLE)), 5)
    assert "power_w" not in values
    assert (values["power_limit_w"], values["temperature_c"]) == (550, 53)


def test_deep_json_is_no_trap(tmp_path: Path) -> None:
    deep = '[{"gpu": 0, "power": ' + '{"a":' * 400 + "1" + "}" * 400 + "}]"
    with pytest.raises(RocmPerfError):
        _read(_source(tmp_path, deep))


def test_specimens_of_the_smi_tools(specimens: Path) -> None:
    folder = specimens / "sysinfo_text"
    metric = _read(Source(folder / "wishfine_localdoc-agent-amd-ai__amd_smi_metric.txt"))
    assert _values(metric, 0) == {
        "temperature_edge_c": 29,
        "vram_total_bytes": 65536 * 2**20,
        "vram_used_bytes": 4004 * 2**20,
    }
    four = _read(Source(folder / "ROCm_rocm-systems__docs_rocm-smi.txt"))
    assert [_values(four, agent)["power_w"] for agent in (4, 5, 6, 7)] == [110, 113, 125, 115]


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_any_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    file = damaged_file(tmp_path_factory, ALL[name].encode(), data)
    peek = Peek(Source(file))
    for adapter in sysinfo.ADAPTERS:
        if adapter.claims(peek):
            with suppress(RocmPerfError):
                adapter.read(Source(file))
