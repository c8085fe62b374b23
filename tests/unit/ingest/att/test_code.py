"""Decoded thread traces: instructions, waves, and what the traced compute units counted."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.att import code as att
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek

HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
CODE: dict[str, Any] = {
    "code": [
        ["; _Z1kPf", 0, 0, "k(float*)", 3, 256, 0, 0, 0, 0],
        ["s_load s0, 0x0", 0, 1, "a.cpp:4", 3, 256, 16, 320, 64, 8],
        ["s_endpgm", 0, 2, "", 3, 264, 0, 0, 0, 0],
    ],
    "header": HEADER,
    "version": "3.0.0",
}
STATS = (
    '"CodeObj","Vaddr","Instruction","Hitcount","Latency","Stall","Idle","Source"\n'
    '3,256,"; kern.kd",0,0,0,0,""\n3,256,"s_load s0, 0x0",16,320,64,8,"a.cpp:4"\n'
)
WAVE: dict[str, Any] = {
    "duration": 90,
    "name": "SE7",
    "num_insts": 2,
    "num_stitched": 2,
    "wave": {
        "begin": 10,
        "cu": 5,
        "end": 100,
        "id": 1,
        "instructions": [[12, 6, 4, 8, 1], [20, 2, 3, 4, 2]],
        "simd": 2,
        "slot": 0,
    },
}
OCCUPANCY: dict[str, Any] = {
    "0": [
        [10, 0, 1, 0, 1, 5],
        [12, 0, 1, 1, 1, 6],
        [30, 0, 1, 0, 0, 5],
        [40, 0, 1, 0, 1, 5],
        [50, 0, 1, 0, 0, 5],
    ],
    "dispatches": {"5": "_Z1kPf", "6": "3 / 0x1700"},
    "version": "3.0.0",
}
FILENAMES: dict[str, Any] = {
    "counter_names": ["A", "B", "C", "D", "E", "F", "G", "H"],
    "gfxip": 9,
    "gfxv": "vega",
    "global_begin_time": 0,
    "version": "3.0.0",
    "wave_filenames": {"7": {"2": {"0": {"1": ["se7_sm2_sl0_wv1.json", 10, 100]}}}},
}
READINGS: dict[str, Any] = {
    "data": [[100, 1, 2, 3, 4, 6, 0], [200, 5, 6, 7, 8, 6, 1], [300, 10, 20, 30, 40, 6, 0]]
}
FOLDER = "ui_output_agent_32617_dispatch_3"


def _file(folder: Path, name: str, content: object) -> Source:
    file = folder / FOLDER / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return Source(file)


def _read(source: Source) -> Part:
    (adapter,) = [adapter for adapter in att.ADAPTERS if adapter.claims(Peek(source))]
    return adapter.read(source)


def test_code_names_its_kernel_and_keeps_cycles(tmp_path: Path) -> None:
    table = _read(_file(tmp_path, "code.json", CODE)).tables["instructions"]
    assert table["text"].to_list() == ["s_load s0, 0x0", "s_endpgm"]
    row = table.row(0, named=True)
    assert (row["kernel"], row["dispatch_id"], row["code_object"], row["pc"]) == ("k(float*)", 3, 3, 256)
    assert (row["hits"], row["latency_cycles"], row["stall_cycles"], row["idle_cycles"]) == (16, 320, 64, 8)
    assert (row["source"], row["samples_issued"], row["agent_id"]) == ("a.cpp:4", None, None)
    assert table["source"][1] is None
    assert table["hits"][1] == 0


def test_code_of_pc_sampling_has_samples_and_no_cycles(tmp_path: Path) -> None:
    rows = [[*row[:6], 0, 0, 0, 0, index, 2 * index, [0, 2]] for index, row in enumerate(CODE["code"])]
    header = [*HEADER.split(", "), "PC_Issued", "PC_Stalled", "Stall_Reasons"]
    part = _read(_file(tmp_path, "code.json", {"code": rows, "header": header, "version": "3.0.0"}))
    table = part.tables["instructions"]
    assert table["samples_issued"].to_list() == [1, 2]
    assert table["samples_stalled"].to_list() == [2, 4]
    assert table["hits"].null_count() == table["latency_cycles"].null_count() == 2


def test_stats_csv(tmp_path: Path) -> None:
    file = tmp_path / f"stats_{FOLDER}.csv"
    file.write_text(STATS)
    row = _read(Source(file)).tables["instructions"].row(0, named=True)
    assert (row["kernel"], row["dispatch_id"], row["stall_cycles"], row["source"]) == (
        "kern",
        3,
        64,
        "a.cpp:4",
    )


@pytest.mark.parametrize(
    "content", [{**CODE, "code": None}, STATS.splitlines()[0] + "\n"], ids=["code.json", "stats"]
)
def test_nothing_decoded_is_an_empty_capture(tmp_path: Path, content: object) -> None:
    with pytest.raises(EmptyCaptureError, match="nothing was decoded"):
        _read(_file(tmp_path, "x", content))


def test_a_wave_file(tmp_path: Path) -> None:
    row = _read(_file(tmp_path, "w.json", WAVE)).tables["waves"].row(0, named=True)
    assert (row["shader_engine"], row["cu"], row["simd"], row["slot"], row["wave"]) == (7, 5, 2, 0, 1)
    assert (row["start_cycle"], row["end_cycle"], row["instructions"], row["stall_cycles"]) == (10, 100, 2, 7)
    assert row["dispatch_id"] == 3


def test_filenames_list_waves(tmp_path: Path) -> None:
    row = _read(_file(tmp_path, "filenames.json", FILENAMES)).tables["waves"].row(0, named=True)
    assert (row["shader_engine"], row["simd"], row["slot"], row["wave"]) == (7, 2, 0, 1)
    assert (row["start_cycle"], row["end_cycle"], row["instructions"]) == (10, 100, None)


def test_occupancy_pairs_starts_and_ends(tmp_path: Path) -> None:
    part = _read(_file(tmp_path, "occupancy.json", OCCUPANCY))
    table = part.tables["waves"]
    assert table.select("slot", "start_cycle", "end_cycle", "kernel").rows() == [
        (0, 10, 30, "_Z1kPf"),
        (0, 40, 50, "_Z1kPf"),
    ]
    assert [loss.records for loss in part.losses] == [1]


def test_counters_of_the_trace_are_summed_and_named(tmp_path: Path) -> None:
    _file(tmp_path, "filenames.json", FILENAMES)
    part = _read(_file(tmp_path, "se4_perfcounter.json", READINGS))
    table = part.tables["metrics"]
    assert dict(table.select("metric", "value").rows()) == {
        "A": 11,
        "B": 22,
        "C": 33,
        "D": 44,
        "E": 5,
        "F": 6,
        "G": 7,
        "H": 8,
    }
    assert table["group"].unique().to_list() == ["shader engine 4, CU 6"]
    assert part.notices == ()


def test_counters_without_their_names_say_so(tmp_path: Path) -> None:
    part = _read(_file(tmp_path, "se4_perfcounter.json", READINGS))
    assert part.tables["metrics"]["metric"][0] == "thread trace counter 0"
    assert "filenames.json" in part.notices[0]


def test_wave_states_are_integrated(tmp_path: Path) -> None:
    part = _read(_file(tmp_path, "s", {"name": "wstates3.json", "state": [2, 1, 0], "time": [10, 20, 50]}))
    assert part.tables["metrics"].select("metric", "value", "unit").rows() == [
        ("wave cycles waiting", 50.0, "cycles")
    ]


@pytest.mark.parametrize(
    "content",
    [
        {"/": {"a": {"k.cpp": "source_0_k.cpp"}}},
        {"SE0": [[1, 2]], "SE1": [], "metadata": {"frequency": 100000000}},
    ],
    ids=["snapshots", "realtime"],
)
def test_files_that_fill_no_table_are_recognised(tmp_path: Path, content: object) -> None:
    part = _read(_file(tmp_path, "x.json", content))
    assert part.tables == {}
    assert "fills no table" in part.notices[0]


def test_a_raw_trace_is_refused_with_a_way_out(tmp_path: Path) -> None:
    file = tmp_path / "raw"
    file.write_bytes(bytes.fromhex("11800f5800000000f02fa5fe07000000"))
    with pytest.raises(InputError, match=r"decoder.*ui_output"):
        _read(Source(file))


@pytest.mark.parametrize(
    "data", [b"", b"\x11", b"[]", b"{}", b'{"data": [1, 2]}', b'{"code": null}', b"\x11\x80\x0f\x00"]
)
def test_other_files_are_not_claimed(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "other"
    file.write_bytes(data)
    assert not [adapter.name for adapter in att.ADAPTERS if adapter.claims(Peek(Source(file)))]


@given(
    document=st.sampled_from([CODE, WAVE, OCCUPANCY, FILENAMES, READINGS]),
    place=st.floats(0, 0.999),
    byte=st.integers(0, 255),
    cut=st.booleans(),
)
def test_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, document: object, place: float, byte: int, cut: bool
) -> None:
    data = json.dumps(document).encode()
    at = int(place * len(data))
    file = tmp_path_factory.mktemp("att") / "x.json"
    file.write_bytes(data[:at] if cut else data[:at] + bytes([byte]) + data[at + 1 :])
    for adapter in att.ADAPTERS:
        if adapter.claims(Peek(Source(file))):
            with suppress(InputError, EmptyCaptureError):
                adapter.read(Source(file))


WAVE_TRACE = "iree-org_wave__wave__"


def test_stats_and_code_of_one_trace_agree(specimens: Path) -> None:
    code = _read(Source(specimens / "att" / f"{WAVE_TRACE}{FOLDER}__code.json")).tables["instructions"]
    stats = _read(Source(specimens / "att" / f"{WAVE_TRACE}stats_{FOLDER}.csv")).tables["instructions"]
    assert (code.height, code["hits"].sum(), code["stall_cycles"].sum()) == (285, 3552, 53320)
    assert code["kernel"].unique().to_list() == ["gemm_prefetch"]
    assert code.equals(stats)


def test_waves_agree_between_the_files_of_one_trace(specimens: Path) -> None:
    files = sorted((specimens / "att").glob(f"{WAVE_TRACE}{FOLDER}__se*_sm*.json"))
    waves = pl.concat(_read(Source(file)).tables["waves"] for file in files)
    listed = _read(Source(specimens / "att" / f"{WAVE_TRACE}{FOLDER}__filenames.json")).tables["waves"]
    occupancy = _read(Source(specimens / "att" / f"{WAVE_TRACE}{FOLDER}__occupancy.json"))
    key = ["shader_engine", "simd", "slot", "start_cycle", "end_cycle"]
    assert (waves.height, listed.height, occupancy.tables["waves"].height) == (16, 16, 256)
    assert waves.join(listed, on=key).height == 16
    assert waves.join(occupancy.tables["waves"], on=[*key, "cu"]).height == 16
    assert (waves["stall_cycles"].sum(), waves["instructions"].sum()) == (53320, 3552)
    assert occupancy.losses == ()


@pytest.mark.parametrize(("state", "cycles"), [(1, 14396), (2, 14756), (3, 46656), (4, 10860)])
def test_wave_states_sum_to_the_timelines_of_the_waves(specimens: Path, state: int, cycles: int) -> None:
    files = sorted((specimens / "att").glob(f"{WAVE_TRACE}{FOLDER}__se*_sm*.json"))
    timelines = [entry for file in files for entry in json.loads(file.read_text())["wave"]["timeline"]]
    source = Source(specimens / "att" / f"{WAVE_TRACE}{FOLDER}__wstates{state}.json")
    assert _read(source).tables["metrics"]["value"].to_list() == [cycles]
    assert sum(length for which, length in timelines if which == state) == cycles


def test_other_specimens(specimens: Path) -> None:
    kittens = _read(Source(specimens / "att" / "HazyResearch_HipKittens__mi325x__code.json")).tables[
        "instructions"
    ]
    assert (kittens.height, kittens["kernel"][0]) == (1187, "micro_tk(micro_globals)")
    waves = _read(Source(specimens / "att" / "HazyResearch_HipKittens__mi325x__occupancy.json")).tables[
        "waves"
    ]
    assert (waves.height, waves["kernel"].unique().to_list()) == (248, ["_Z8micro_tk13micro_globals"])
    sampled = _read(Source(specimens / "pc_sampling" / "ROCm_rocprof-compute-viewer__code.json.gz")).tables[
        "instructions"
    ]
    assert (sampled.height, sampled["samples_issued"].sum(), sampled["samples_stalled"].sum()) == (
        1634,
        1306,
        3384,
    )
    assert sampled["hits"].null_count() == 1634


@pytest.mark.parametrize("engine", [0, 1, 22])
def test_raw_specimens_are_refused(specimens: Path, engine: int) -> None:
    with pytest.raises(InputError, match="SQTT"):
        _read(Source(specimens / "att" / f"{WAVE_TRACE}3785403_32617_shader_engine_{engine}_3.att"))
