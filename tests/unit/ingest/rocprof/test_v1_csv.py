"""rocprof results.csv: old and new layouts, with and without times and counters."""

from __future__ import annotations

import csv
import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rocprof import v1_csv
from rocm_perf.ingest.sniff import sniff

NAME = "void gemm<float, 4>(float const*, int)"
NEW = (
    "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,"
    "SQ_WAVES,TCC_HIT[0],TCC_HIT[1],DispatchNs,BeginNs,EndNs,CompleteNs,DurationNs\n"
    f'0,"{NAME} [clone .kd]",8,1,15,57,58,4294967040,256,512,16,24,4,32,64,'
    '"0x0","0x7f",64,10,32,1,9007199254740993,9007199254740999,3,6\n'
    f'1,"fill.kd",8,1,16,57,58,256,256,0,0,16,0,32,64,"0x0","0x7f",4,1.5,None,1,9007199254741000,9007199254741001,3,1\n'
)
OLD = (
    "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,vgpr,sgpr,fbar,sig,obj\n"
    f'7,"{NAME}",0,0,0,57,58,640,64,1024,0,12,24,0,0x0,0x7f\n'
)


def _read(folder: Path, text: str) -> Part:
    file = folder / "anything.dat"
    file.write_text(text)
    source = Source(file)
    return sniff(source).read(source)


def test_new_layout(tmp_path: Path) -> None:
    part = _read(tmp_path, NEW)
    row = part.tables["dispatches"].row(0, named=True)
    assert part.tool == "rocprof"
    assert (row["dispatch_id"], row["kernel"], row["agent_id"]) == (0, NAME, 8)
    assert (row["start_ns"], row["end_ns"]) == (9007199254740993, 9007199254740999)
    assert [row[f"grid_{axis}"] for axis in "xyz"] == [4294967040, 1, 1]
    assert [row[f"workgroup_{axis}"] for axis in "xyz"] == [256, 1, 1]
    assert [row[name] for name in ("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")] == [
        512,
        16,
        24,
        4,
        32,
    ]
    assert part.tables["dispatches"]["kernel"][1] == "fill"


def test_counters_are_long_and_instances_summed(tmp_path: Path) -> None:
    table = _read(tmp_path, NEW).tables["counters"]
    assert table.select("pid", "dispatch_id", "agent_id", "counter", "value").rows() == [
        (57, 0, 8, "SQ_WAVES", 64.0),
        (57, 0, 8, "TCC_HIT", 42.0),
        (57, 1, 8, "SQ_WAVES", 4.0),
        (57, 1, 8, "TCC_HIT", 1.5),
    ]


def test_old_layout_without_times(tmp_path: Path) -> None:
    part = _read(tmp_path, OLD)
    row = part.tables["dispatches"].row(0, named=True)
    assert (row["dispatch_id"], row["vgprs"], row["agprs"], row["sgprs"]) == (7, 12, None, 24)
    assert (row["start_ns"], row["end_ns"]) == (None, None)
    assert set(part.tables) == {"dispatches"}
    assert part.losses == ()


def test_times_that_a_spreadsheet_rounded_are_lost_and_not_guessed(tmp_path: Path) -> None:
    part = _read(tmp_path, NEW.replace("9007199254740999", "9.0072E+15"))
    assert part.tables["dispatches"]["start_ns"].to_list() == [None, 9007199254741000]
    assert [(loss.records, "nanoseconds" in loss.what) for loss in part.losses] == [(1, True)]


def test_a_counter_that_is_no_number_is_counted(tmp_path: Path) -> None:
    part = _read(tmp_path, NEW.replace(",64,10,32,", ",nan,?,32,"))
    assert [loss.records for loss in part.losses] == [2]
    assert part.tables["counters"]["value"].to_list() == [32.0, 4.0, 1.5]


def test_a_row_cut_off_is_dropped(tmp_path: Path) -> None:
    part = _read(tmp_path, NEW + f'2,"{NAME} [clone .kd]",8,1,15')
    assert part.tables["dispatches"].height == 2
    assert [loss.records for loss in part.losses] == [1]


def test_spaces_around_column_names_do_not_matter(tmp_path: Path) -> None:
    assert (
        _read(tmp_path, OLD.replace("KernelName", " KernelName ")).tables["dispatches"]["kernel"][0] == NAME
    )


def test_header_only_is_empty_and_other_columns_are_unreadable(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, OLD.splitlines()[0] + "\n")
    file = tmp_path / "x.csv"
    file.write_text("Index,Other\n1,2\n")
    with pytest.raises(InputError, match="KernelName"):
        v1_csv.read_results(Source(file))


@given(cut=st.integers(0, len(NEW)), at=st.integers(0, len(NEW)), junk=st.binary(max_size=12))
def test_no_damage_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, junk: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "v1_mutated.csv"
    data = NEW.encode()
    file.write_bytes((data[:at] + junk + data[at:])[: cut + len(junk)])
    with suppress(InputError, EmptyCaptureError):
        assert isinstance(v1_csv.read_results(Source(file)), Part)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("hpcgarage_spatter__results.csv", 520),
        ("JoursBleu_llama.cpp__results.csv.gz", 1963),
        ("amd_HPCTrainingExamples__finite-difference_results.csv.gz", 1004),
    ],
)
def test_specimens(specimens: Path, name: str, rows: int) -> None:
    file = specimens / "rocprof_v1" / name
    table = sniff(Source(file)).read(Source(file)).tables["dispatches"]
    text = (gzip.decompress(file.read_bytes()) if name.endswith(".gz") else file.read_bytes()).decode()
    expected = list(csv.DictReader(text.splitlines()))
    assert table.height == len(expected) == rows
    assert table["start_ns"].to_list() == [int(row["BeginNs"]) for row in expected]
    assert (table["end_ns"] - table["start_ns"]).to_list() == [int(row["DurationNs"]) for row in expected]
    assert table["grid_x"].to_list() == [int(row["grd"]) for row in expected]
    assert not table["kernel"].str.contains(r"\.kd").any()
