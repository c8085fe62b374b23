"""Nsight Compute CSV: both pages, with ncu's messages and the application's output around them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.nvidia import ncu
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.sniff import sniff
from tests.unit.ingest.damage import damaged_file

LAUNCH = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC"'
)
NAME = "void gemm<float, 4>(float*)"
ROW = f'"0","1234","app","box","{NAME}","1","7","(128, 2, 1)","(4, 1, 1)","0","9.0"'
LONG = (
    "the application says hello\n"
    "==PROF== Connected to process 1234 (/usr/bin/app)\n"
    f'{LAUNCH},"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Description"\n'
    f'{ROW},"Speed","Memory Throughput","%","80.5","",""\n'
    f'{ROW},"Speed","Memory Throughput","Gbyte/s","1,200.00","",""\n'
    f'{ROW},"Speed","Duration","us","2.5","",""\n'
    f'{ROW},"Other","Duration","us","2.5","",""\n'
    f'{ROW},"Launch","Registers Per Thread","register/thread","32","",""\n'
    f'{ROW},"Launch","unsupported","","n/a","",""\n'
    f'{ROW},"Speed","","","","SOLBottleneck","text over\ntwo lines"\n'
    "the application says more\n"
    "==PROF== Disconnected from process 1234\n"
)
RAW = (
    f'{LAUNCH},"dram__bytes_read.sum","device__attribute_display_name","gpu__time_duration.sum","launch__registers_per_thread","launch__shared_mem_per_block"\n'
    '"","","","","","","","","","","","Mbyte","","usecond","register/thread","Kbyte/block"\n'
    '"0","1234","python3","127.0.0.1","gemm","1","7","(128, 1, 1)","(80, 1, 1)","0","8.0","2,000.5",'
    '"NVIDIA A100","2,000","64","1.5"\n'
    '"1","1234","python3","127.0.0.1","norm","1","7","(256, 1, 1)","(1, 1, 1)","0","8.0","0.5",'
    '"NVIDIA A100","3.25","16","0"\n'
)


def _source(folder: Path, text: str) -> Source:
    file = folder / "anything.dat"
    file.write_text(text)
    return Source(file)


def _values(part: Part) -> dict[tuple[int, str], float]:
    return {
        (row["dispatch_id"], row["counter"]): row["value"] for row in part.tables["counters"].rows(named=True)
    }


def test_details_page(tmp_path: Path) -> None:
    source = _source(tmp_path, LONG)
    assert sniff(source).name == "ncu-csv"
    part = ncu.read(source)
    assert _values(part) == {
        (0, "Memory Throughput [%]"): 80.5,
        (0, "Memory Throughput [byte/second]"): 1.2e12,
        (0, "Duration"): 2500.0,
        (0, "Registers Per Thread"): 32.0,
    }
    assert part.losses == ()
    assert part.host == "box"


def test_grid_counts_threads_and_times_are_unknown(tmp_path: Path) -> None:
    row = ncu.read(_source(tmp_path, LONG)).tables["dispatches"].row(0, named=True)
    assert (row["kernel"], row["dispatch_id"], row["pid"], row["agent_id"], row["stream_id"]) == (
        NAME,
        0,
        1234,
        0,
        7,
    )
    assert (row["grid_x"], row["grid_y"], row["grid_z"]) == (512, 2, 1)
    assert (row["workgroup_x"], row["workgroup_y"], row["vgprs"]) == (128, 2, 32)
    assert (row["start_ns"], row["end_ns"]) == (None, None)


def test_raw_page(tmp_path: Path) -> None:
    part = ncu.read(_source(tmp_path, RAW))
    values = _values(part)
    assert values[0, "dram__bytes_read.sum"] == 2_000_500_000
    assert values[1, "gpu__time_duration.sum"] == 3250
    assert part.tables["dispatches"].select("kernel", "grid_x", "vgprs", "lds_bytes").rows() == [
        ("gemm", 10240, 64, 1500),
        ("norm", 256, 16, 0),
    ]
    assert part.tables["agents"].select("agent_id", "gfx", "name", "vendor").rows() == [
        (0, "sm_80", "NVIDIA A100", "NVIDIA")
    ]
    units = dict(part.tables["counter_info"].select("counter", "unit").rows())
    assert units["dram__bytes_read.sum"] == "byte"


def test_a_row_cut_off_is_counted(tmp_path: Path) -> None:
    part = ncu.read(_source(tmp_path, RAW[:-60]))
    assert part.tables["dispatches"].height == 1
    assert [loss.records for loss in part.losses] == [1]


def test_a_table_saved_again_without_quotes(tmp_path: Path) -> None:
    text = (
        "ID,Process ID,Process Name,Kernel Name,Block Size,Grid Size,Metric Name,Metric Unit,Metric Value\n"
        '3,7,app,k,"(64, 1, 1)","(2, 1, 1)",inst,inst,12\n'
    )
    part = ncu.read(_source(tmp_path, text))
    assert _values(part) == {(3, "inst"): 12.0}
    assert "agents" not in part.tables


def test_console_output_is_refused_with_a_way_out(tmp_path: Path) -> None:
    source = _source(
        tmp_path,
        "==PROF== Connected to process 7 (/usr/bin/app)\n  gemm (4, 1, 1)x(128, 1, 1)\n    Duration us 5\n",
    )
    with pytest.raises(InputError, match="--csv"):
        sniff(source).read(source)


def test_no_kernel_at_all(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        ncu.read(_source(tmp_path, LAUNCH + ',"m"\n' + '"","","","","","","","","","","","byte"\n'))


@pytest.mark.parametrize(
    ("unit", "factor", "base"),
    [
        ("Kbyte", 1e3, "byte"),
        ("Gbyte/second", 1e9, "byte/second"),
        ("Gbyte/s", 1e9, "byte/second"),
        ("usecond", 1e3, "nsecond"),
        ("ms", 1e6, "nsecond"),
        ("nsecond", 1.0, "nsecond"),
        ("cycle/nsecond", 1e9, "cycle/second"),
        ("Ghz", 1e9, "hz"),
        ("inst", 1.0, "inst"),
        ("%", 1.0, "%"),
        ("Kbyte/block", 1e3, "byte/block"),
        ("", 1.0, ""),
        ("furlong", 1.0, "furlong"),
    ],
)
def test_units(unit: str, factor: float, base: str) -> None:
    scale, name = ncu.base_unit(unit)
    assert scale == pytest.approx(factor)
    assert name == base


def test_many_rows_stay_quick_and_whole(tmp_path: Path) -> None:
    rows = "".join(f'"{number}"{ROW[3:]},"m","byte","{number}"\n' for number in range(2000))
    part = ncu.read(_source(tmp_path, f'{LAUNCH},"Metric Name","Metric Unit","Metric Value"\n' + rows))
    assert part.tables["counters"].select(pl.col("value").sum()).item() == sum(range(2000))


@pytest.mark.parametrize("text", [LONG, RAW], ids=["details", "raw"])
@given(data=st.data())
def test_any_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    file = damaged_file(tmp_path_factory, text.encode(), data)
    ncu.ADAPTERS[0].claims(Peek(Source(file)))
    with suppress(RocmPerfError):
        ncu.read(Source(file))
