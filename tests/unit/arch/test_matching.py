"""Which GPU a recording was made on: every agent of the recorded specimens, and agents that must not be mistaken."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.arch import catalog
from rocm_perf.arch.matching import Match, Override, match
from tests.recordings import recording

TABLE = Path(__file__).parents[2] / "golden" / "specimens.tsv"
MI300X = {
    "gfx": "gfx942",
    "name": "AMD Instinct MI300X",
    "cu_count": 304,
    "memory_bytes": 192 << 30,
    "clock_mhz": 2100.0,
}

# What the agents of the specimens are: by gfx, name and compute units, the GPU and those that it may be as well.
SPECIMENS: dict[tuple[str | None, str | None, int | None], tuple[str, ...]] = {
    ("gfx1030", "AMD Radeon RX 6800 XT", 72): ("AMD Radeon RX 6800 XT",),
    ("gfx1151", "Radeon 8060S Graphics", 40): ("AMD Radeon 8060S",),
    ("gfx1201", "AMD Radeon AI PRO R9700", 64): ("AMD Radeon AI PRO R9700",),
    ("gfx1201", "AMD Radeon RX 9070 XT", 64): ("AMD Radeon RX 9070 XT",),
    ("gfx1201", None, 64): ("AMD Radeon RX 9070 XT", "AMD Radeon AI PRO R9700"),
    ("gfx900", "Radeon Instinct MI25", 64): (),
    ("gfx906", "AMD Instinct MI50/MI60", 60): ("AMD Instinct MI50 32GB",),
    ("gfx906", "Vega 20", 64): ("AMD Instinct MI60",),
    ("gfx908", "MI100", 120): ("AMD Instinct MI100",),
    ("gfx90a", "AMD Instinct MI210", 104): ("AMD Instinct MI210",),
    ("gfx90a", "AMD Instinct MI250X/MI250", 104): ("AMD Instinct MI250 GCD",),
    ("gfx90a", "MI200", 104): ("AMD Instinct MI210", "AMD Instinct MI250 GCD"),
    ("gfx90a", "mi200", 104): ("AMD Instinct MI210", "AMD Instinct MI250 GCD"),
    ("gfx90a", None, 104): ("AMD Instinct MI210", "AMD Instinct MI250 GCD"),
    ("gfx941", "AMD Instinct MI300X", 304): ("AMD Instinct MI300X",),
    ("gfx942", "AMD Instinct MI300A", 228): ("AMD Instinct MI300A",),
    ("gfx942", "AMD Instinct MI300X VF", 304): ("AMD Instinct MI300X",),
    ("gfx942", "AMD Instinct MI300X", 304): ("AMD Instinct MI300X",),
    ("gfx942", "AMD Instinct MI325X", 304): ("AMD Instinct MI325X",),
    ("gfx942", "AMD Radeon Graphics", 304): ("AMD Instinct MI300X",),  # by its memory
    ("gfx942", "MI300", 304): ("AMD Instinct MI300X", "AMD Instinct MI325X"),
    ("gfx942", "MI300A_A1", 228): ("AMD Instinct MI300A",),
    ("gfx942", "MI300X_A1", 304): ("AMD Instinct MI300X",),
    ("gfx942", "MI308X", 80): (),  # no public data sheet
    ("gfx950", "AMD Instinct MI350X", 256): ("AMD Instinct MI350X",),
    ("gfx950", "AMD Radeon Graphics", 256): ("AMD Instinct MI350X",),  # by its clock
    ("gfx950", "MI350", 128): ("AMD Instinct MI350X", "AMD Instinct MI355X"),
    ("gfx950", "MI350", 256): ("AMD Instinct MI350X",),
    ("gfx950", "ip discovery", 256): ("AMD Instinct MI355X",),
    ("sm_70", "Tesla V100-SXM2-32GB", 80): (),
    ("sm_80", "NVIDIA A100-PG509-200", 108): ("NVIDIA A100 SXM 40GB", "NVIDIA A100 PCIe 40GB"),
    ("sm_90", "NVIDIA H100 80GB HBM3", 132): ("NVIDIA H100 SXM",),
    (None, "AMD Instinct MI300X", None): ("AMD Instinct MI300X",),
    (None, "AMD Radeon Graphics", 104): (),
    (None, None, None): (),
}


@pytest.fixture(autouse=True)
def no_user_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PERF_GPUS", str(tmp_path))


def names(matched: Match) -> tuple[str, ...]:
    return () if matched.gpu is None else (matched.gpu.name, *matched.ambiguous)


def agents_of(specimens: Path) -> list[dict[str, Any]]:
    with TABLE.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    files = [row["file"] for row in rows if "agents=" in (row["rows"] or "")]
    agents = [
        agent for name in files for agent in recording(specimens / name).table("agents").iter_rows(named=True)
    ]
    return [agent for agent in agents if agent["kind"] == "GPU"]


@pytest.mark.whole
def test_every_agent_of_the_specimens(specimens: Path) -> None:
    seen = set()
    for agent in agents_of(specimens):
        key = (agent["gfx"], agent["name"], agent["cu_count"])
        matched = match(agent)
        # The vLLM recording and the rocprof ones of MI300X have no name; the first tells its memory.
        expected = SPECIMENS.get(key)
        if key == ("gfx942", None, 304):
            both = ("AMD Instinct MI300X", "AMD Instinct MI325X")
            expected = both[:1] if agent["memory_bytes"] else both
        assert names(matched) == expected, agent
        assert bool(matched.reason) == (matched.gpu is None)
        seen.add(key)
    assert seen - {("gfx942", None, 304)} == set(SPECIMENS)


def test_what_the_machine_says_overrides_the_catalogue() -> None:
    matched = match(
        MI300X | {"memory_bytes": 206_141_652_992, "clock_mhz": 1900.0, "xcc_count": 8, "wave_size": 64}
    )
    assert matched.gpu is not None
    assert matched.overrides == (
        Override("clock_mhz", 2100.0, 1900.0),
        Override("memory_bytes", 192 << 30, 206_141_652_992),
    )
    assert str(matched.overrides[0]) == "clock_mhz: 1900.0 in the recording, 2100.0 in the catalogue"
    assert (matched.gpu.clock_mhz, matched.gpu.memory_bytes) == (1900.0, 206_141_652_992)
    assert matched.gpu.sources["clock_mhz"].title == "recording"
    assert matched.gpu.sources["memory_gbps"].title == "AMD CDNA 3 architecture white paper"
    assert matched.gpu.vector_tflops == catalog.find_gpu("MI300X").vector_tflops
    assert "rates are those of the catalogue's 2100" in matched.notes[0]


def test_the_same_machine_as_the_catalogue_has_nothing_to_override() -> None:
    matched = match(MI300X)
    assert (matched.gpu, matched.overrides, matched.notes) == (catalog.find_gpu("MI300X"), (), ())
    assert matched.identified_by == "the name 'AMD Instinct MI300X'"


def test_a_higher_clock_raises_the_rates() -> None:
    matched = match({"gfx": "gfx1030", "name": "AMD Radeon RX 6800 XT", "cu_count": 72, "clock_mhz": 2575.0})
    assert matched.gpu is not None
    assert matched.gpu.vector_tflops["f32"] == pytest.approx(72 * 128 * 2.575 / 1000, rel=0.001)
    assert matched.gpu.sources["vector_tflops.f32"].title == "recording"


def test_a_wave_size_of_the_machine_comes_first() -> None:
    matched = match({"gfx": "gfx1100", "name": "AMD Radeon RX 7900 XTX", "cu_count": 96, "wave_size": 64})
    assert matched.gpu is not None
    assert matched.gpu.wave_sizes == (64, 32)


@pytest.mark.parametrize("name", ["AMD Instinct MI300X", None])
def test_a_partition_is_a_part_of_its_gpu(name: str | None) -> None:
    """CPX and NPS4 of an MI300X: an eighth of everything."""
    agent = {"gfx": "gfx942", "name": name, "cu_count": 38, "xcc_count": 1, "memory_bytes": 24 << 30}
    matched = match(agent)
    whole = catalog.find_gpu("MI300X")
    assert names(matched) == ("AMD Instinct MI300X",)
    assert matched.gpu is not None
    assert (matched.share, matched.gpu.compute_units, matched.gpu.dies) == (0.125, 38, 1)
    assert matched.gpu.vector_tflops["f32"] == whole.vector_tflops["f32"] / 8
    assert matched.gpu.matrix_tflops["f16"] == whole.matrix_tflops["f16"] / 8
    assert (matched.gpu.memory_gbps, matched.gpu.l2_channels, matched.gpu.l2_bytes) == (662.5, 16, 4 << 20)
    assert matched.gpu.board_power_w is None
    assert "38 of the 304 compute units of AMD Instinct MI300X" in matched.notes[0]


def test_a_partition_that_sees_all_memory_keeps_its_bandwidth() -> None:
    matched = match(MI300X | {"cu_count": 76, "xcc_count": 2})
    assert matched.gpu is not None
    assert (matched.gpu.memory_gbps, matched.gpu.dies, matched.share) == (5300, 2, 0.25)


def test_half_of_an_mi300x_is_no_part_of_an_mi300a() -> None:
    assert names(match({"gfx": "gfx942", "cu_count": 152})) == ("AMD Instinct MI300X", "AMD Instinct MI325X")


def test_an_instance_of_a_gpu_is_not_another_product() -> None:
    agent = {
        "gfx": "sm_90",
        "name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "cu_count": 16,
        "memory_bytes": 10 << 30,
    }
    matched = match(agent)
    assert names(matched) == ("NVIDIA H100 SXM",)
    assert matched.gpu is not None
    assert matched.gpu.vector_tflops["f32"] == pytest.approx(66.9 * 16 / 132)
    assert matched.gpu.memory_gbps == 3352 / 8
    assert "no sm_90 in the catalogue has 16 compute units" in match(agent | {"name": None}).reason


def test_dies_that_cannot_be_are_not_believed() -> None:
    matched = match(MI300X | {"xcc_count": 1})
    assert matched.gpu is not None
    assert matched.gpu.dies == 8
    assert matched.notes == ("dies: 1 in the recording, which its compute units contradict; 8 is used",)


def test_a_name_that_is_not_in_the_catalogue_is_said() -> None:
    matched = match({"gfx": "gfx1102", "name": "AMD Radeon RX 7650 GRE", "cu_count": 32})
    assert names(matched) == ("AMD Radeon RX 7600", "AMD Radeon RX 7600 XT")
    assert matched.notes == ("the catalogue has no GPU named 'AMD Radeon RX 7650 GRE'",)
    assert matched.identified_by == "gfx1102 with 32 compute units"


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ({}, "the device has neither a recorded architecture nor a name"),
        ({"name": "AMD EPYC 9654"}, "'AMD EPYC 9654' has neither"),
        ({"gfx": "gfx1036", "cu_count": 2}, "the catalogue has no gfx1036"),
        ({"gfx": "gfx942"}, "its number of compute units was not recorded"),
        ({"gfx": "gfx942", "cu_count": 20}, "no gfx942 in the catalogue has 20 compute units"),
        ({"gfx": "gfx942", "cu_count": 0}, "no gfx942 in the catalogue has 0 compute units"),
    ],
)
def test_no_match_has_a_reason(agent: dict[str, Any], reason: str) -> None:
    matched = match(agent)
    assert matched.gpu is None
    assert reason in matched.reason


def test_a_partition_has_no_links_of_its_own() -> None:
    whole = match({"name": "AMD Instinct MI300X", "gfx": "gfx942", "cu_count": 304}).gpu
    part = match({"name": "AMD Instinct MI300X", "gfx": "gfx942", "cu_count": 38}).gpu
    assert whole is not None
    assert part is not None
    assert (whole.link_limit(8), part.link_limit(8)) == (448, None)


@pytest.mark.parametrize(
    ("recorded", "divided"),
    [
        ({"compute_partition": "SPX", "memory_partition": "NPS1", "xcc_count": 8}, False),
        ({"compute_partition": "SPX"}, False),
        ({"compute_partition": "DPX", "memory_partition": "NPS1"}, True),
        ({"compute_partition": "SPX", "memory_partition": "NPS2"}, True),
        ({"compute_partition": "SPX", "xcc_count": 4}, True),
    ],
)
def test_an_undivided_gpu_keeps_its_memory_and_dies_with_fewer_units(
    recorded: dict[str, Any], divided: bool
) -> None:
    agent = {"gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 152, **recorded}
    matched, whole = match(agent), match(MI300X).gpu
    assert matched.gpu is not None
    assert whole is not None
    factor = 0.5 if divided else 1.0
    assert matched.gpu.memory_gbps == whole.memory_gbps * factor
    assert matched.gpu.dies == whole.dies * factor
    assert matched.gpu.compute_units == 152
    assert any("contradicts" in note and "152" in note for note in matched.notes) is not divided
