"""The carried tables: what each chip counts in each release, what a counter costs, and where the facts come from."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf.arch import counter_table
from rocm_perf.arch.counters import (
    block,
    block_of,
    blocks,
    counters,
    definitions,
    expanded,
    hardware_counters,
    known_chips,
    written,
)
from rocm_perf.arch.expression import parse
from rocm_perf.errors import UsageError

ROOT = Path(__file__).parents[3]
CONSTANTS = {"simd_count", "simd_per_cu", "wave_front_size", "array_count", "simd_arrays_per_engine"}


@pytest.mark.parametrize(
    ("gfx", "count"),
    [
        ("gfx950", 628),
        ("gfx90a", 473),
        ("gfx942", 419),
        ("gfx908", 386),
        ("gfx1030", 89),
        ("gfx906", 86),
        ("gfx1100", 80),
        ("gfx1200", 58),
        ("gfx1151", 0),
    ],
)
def test_counts_of_rocm_7_0(gfx: str, count: int) -> None:
    assert len(counters(gfx, "7.0")) == count


@pytest.mark.parametrize("rocm", ["6.3", "7.0"])
def test_names_are_those_of_the_public_lists(specimens: Path, rocm: str) -> None:
    lists = json.loads((specimens / "counters" / f"counters_by_gfx_ROCm{rocm}.json").read_text())
    for gfx in lists["hardware"]:
        known = counters(gfx, rocm)
        hardware = {name for name, counter in known.items() if not counter.derived}
        assert hardware == set(lists["hardware"][gfx])
        assert known.keys() - hardware == set(lists["derived"][gfx])


def test_expressions_are_those_of_the_public_list(specimens: Path) -> None:
    file = specimens / "counters" / "derived_metric_expressions_ROCm7.0.json"
    for name, metric in json.loads(file.read_text())["metrics"].items():
        for definition in metric["definitions"]:
            for gfx in definition["gfx"]:
                assert counters(gfx, "7.0")[name].expression == parse(definition["expression"])


def test_the_table_is_what_the_script_writes(specimens: Path, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    folder, made = specimens / "counters", tmp_path / "definitions.tsv"
    files = {
        "6.3": "ROCm_rocprofiler-sdk__counter_defs_ROCm6.3.yaml.gz",
        "7.0": "ROCm_rocm-systems__counter_defs_ROCm7.0.yaml.gz",
    }
    command = [sys.executable, str(ROOT / "scripts" / "make_counter_tables.py"), "-o", str(made)]
    command += ["--list-avail", str(folder / "listavail_gfx1201_7.2.4_vs_7.14.json")]
    command += [f"{rocm}={folder / file}" for rocm, file in files.items()]
    subprocess.run(command, check=True)
    carried = ROOT / "src" / "rocm_perf" / "arch" / "counters" / "definitions.tsv"
    assert made.read_text() == carried.read_text()


@pytest.mark.parametrize("gfx", known_chips())
@pytest.mark.parametrize("rocm", ["6.3", "7.0", None])
def test_every_derived_counter_comes_down_to_hardware(gfx: str, rocm: str | None) -> None:
    known = counters(gfx, rocm)
    for counter in known.values():
        assert (counter.block is None) == counter.derived
        if counter.expression is not None:
            left = expanded(counter.expression, gfx, rocm).names
            assert all(name in CONSTANTS or known[name].block for name in left), counter.name
        for name in hardware_counters(gfx, counter.name, rocm):
            assert block_of(gfx, name, rocm) in blocks(gfx, rocm)


def test_sources_are_stated() -> None:
    header = (ROOT / "src/rocm_perf/arch/counters/definitions.tsv").read_text().split("counter\t")[0]
    for release in counter_table.releases().release:
        assert f"# ROCm {release.rocm}: {release.source}" in header
        assert release.licence == "MIT"
    assert all(len(text) <= 90 for text in counter_table.descriptions().values())


def test_a_release_in_between_is_told_by_the_one_before() -> None:
    assert definitions("gfx942", "6.4").rocm == "6.3"
    assert definitions("gfx942", "7.13").rocm == "7.0"
    assert definitions("gfx942", "5.7").rocm == "6.3"
    assert definitions("gfx1201").rocm == "7.14"
    assert definitions("gfx1201", "7.2").rocm == "7.0"
    assert hardware_counters("gfx942", "FETCH_SIZE", "6.3") == {"TCC_EA0_RDREQ", "TCC_EA0_RDREQ_32B"}
    assert counters("gfx950", "6.3") == {}
    assert "L0CacheHit" in counters("gfx1201", "7.2.4")
    assert "L0CacheHit" not in counters("gfx1201", "7.0")
    assert counters("gfx1201")["GL2C_HIT"].releases == ("7.0", "7.2.4", "7.14")


def test_chips_that_the_definitions_do_not_name() -> None:
    assert counters("gfx1103") == counters("gfx11")
    assert "gfx1103 itself has none in rocprofv3" in definitions("gfx1103").note
    for rocm in ("6.3", "7.1"):
        none = definitions("gfx1151", rocm)
        assert none.counters == {}
        assert none.note.startswith("gfx1151 has none in ROCm 6.3 to 7.0; 7.2 brings them: ask the machine")
    for release in ("7.2", "7.2.4", None):
        later = definitions("gfx1151", release)
        assert "Shown are those of gfx11, which may differ" in later.note
        lacking = counters("gfx11").keys() - later.counters.keys()
        assert sorted(lacking) == [
            "TA_BUFFER_LOAD_WAVEFRONTS",
            "TA_BUFFER_LOAD_WAVEFRONTS_sum",
            "TA_BUFFER_STORE_WAVEFRONTS",
            "TA_BUFFER_STORE_WAVEFRONTS_sum",
        ]
    assert {"ALUStalledByLDS", "LdsLatency"} <= counters("gfx1151").keys() - counters("gfx1150").keys()


def test_features_of_a_target_are_no_part_of_the_chip() -> None:
    assert definitions("gfx942:sramecc+:xnack-").gfx == "gfx942"
    assert definitions("GFX90A").gfx == "gfx90a"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("gfx943", "the nearest name is gfx94"),
        ("sm_90", "no counters are known for 'sm_90'. Known: gfx9, "),
        ("", "''"),
    ],
)
def test_unknown_chips_are_refused_with_the_known_ones(asked: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)) as refusal:
        counters(asked)
    assert "gfx1201" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("rocm", ["seven", "", "7.x", "7..0"])
def test_what_is_no_release_is_refused(rocm: str) -> None:
    with pytest.raises(UsageError, match="is not a ROCm release"):
        counters("gfx942", rocm)


@pytest.mark.parametrize(
    ("gfx", "name", "cost"),
    [
        ("gfx942", "SQ_WAVES", {"SQ_WAVES"}),
        ("gfx942", "TCC_HIT_sum", {"TCC_HIT"}),
        ("gfx942", "TCC_HIT[3]", {"TCC_HIT"}),
        ("gfx942", "SQ_BUSY_CYCLES_sum", {"SQ_BUSY_CYCLES"}),
        ("gfx942", "FETCH_SIZE", {"TCC_BUBBLE", "TCC_EA0_RDREQ", "TCC_EA0_RDREQ_32B"}),
        ("gfx942", "CU_NUM", set()),
        ("gfx90a", "L2CacheHit", {"TCC_HIT", "TCC_MISS"}),
        (
            "gfx942",
            "MeanOccupancyPerCU",
            {"SQ_LEVEL_WAVES", "accumulate(SQ_LEVEL_WAVES,HIGH_RES)", "GRBM_GUI_ACTIVE"},
        ),
    ],
)
def test_what_a_counter_costs(gfx: str, name: str, cost: set[str]) -> None:
    assert hardware_counters(gfx, name) == cost


def test_an_accumulation_takes_a_slot_beside_its_level() -> None:
    cost = hardware_counters("gfx942", "VmemLatency")
    assert sorted(block_of("gfx942", name) for name in cost) == ["SQ", "SQ", "SQ"]


def test_a_counter_that_does_not_exist_costs_nothing_but_an_error() -> None:
    with pytest.raises(UsageError, match="gfx942 has no counter L2CacheMiss"):
        hardware_counters("gfx942", "L2CacheMiss")
    with pytest.raises(UsageError, match="FETCH_SIZE is not a hardware counter of gfx942"):
        block_of("gfx942", "FETCH_SIZE")


def test_slots_of_a_pass() -> None:
    expected = {
        "CPC": 2,
        "CPF": 2,
        "GRBM": 2,
        "SPI": 6,
        "SQ": 8,
        "TA": 2,
        "TCA": 4,
        "TCC": 4,
        "TCP": 4,
        "TD": 2,
    }
    assert blocks("gfx942") == expected
    assert blocks("gfx1100") == {"GL2C": 4, "GRBM": 2, "SQ": 8, "TA": 2}
    assert not any(block(name).assumed for gfx in known_chips() for name in blocks(gfx))
    assert (block("NEW").slots, block("NEW").assumed) == (2, True)


def test_written_names() -> None:
    parts = {
        name: written(name) for name in ("TCC_HIT", "TCC_HIT_sum", "TCC_HIT[12]", "TA_BUSY_avr", "a b", "[1]")
    }
    assert [(part.base, part.reduction, part.instance) for part in parts.values()] == [
        ("TCC_HIT", None, None),
        ("TCC_HIT", "sum", None),
        ("TCC_HIT", None, 12),
        ("TA_BUSY", "avr", None),
        ("a b", None, None),
        ("[1]", None, None),
    ]
