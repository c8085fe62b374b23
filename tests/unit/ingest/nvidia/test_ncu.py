"""Nsight Compute CSV: every page that has metrics, with ncu's messages and the application's output around them."""

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
        (0, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"): 80.5,
        (0, "dram__bytes.sum.per_second"): 1.2e12,
        (0, "gpu__time_duration.sum"): 2500.0,
        (0, "launch__registers_per_thread"): 32.0,
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


@pytest.mark.parametrize("length", [-10, -25, -45, -60], ids=["in a quote", "in a name", "between", "early"])
def test_a_row_cut_off_is_counted(tmp_path: Path, length: int) -> None:
    part = ncu.read(_source(tmp_path, RAW[:length]))
    assert part.tables["dispatches"].height == 1
    assert [loss.records for loss in part.losses] == [1]


def test_a_row_of_the_details_page_cut_before_its_value_is_counted(tmp_path: Path) -> None:
    rows = f'{LAUNCH},"Metric Name","Metric Unit","Metric Value"\n{ROW},"m","byte","1"\n{ROW},"n","by'
    part = ncu.read(_source(tmp_path, rows + 'te"'))
    assert _values(part) == {(0, "m"): 1.0}
    assert [loss.what for loss in part.losses] == ["the last row breaks off"]


def test_a_mark_of_byte_order_and_line_ends_of_windows(tmp_path: Path) -> None:
    source = _source(tmp_path, "\ufeff" + RAW.replace("\n", "\r\n"))
    assert sniff(source).name == "ncu-csv"
    assert _values(ncu.read(source)) == _values(ncu.read(_source(tmp_path, RAW)))


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,234.5", "12", "0.270752", "n/a", ""], [1234.5, 12, 0.270752, None, None]),
        (["1.234.567", "65,77", "117.344"], [1234567, 65.77, 117344]),  # a German machine
        (["1\u202f234,5", "7"], [1234.5, 7]),  # a French one
        (["33,55,44,320", "1,234"], [335544320, 1234]),  # an Indian one
        (["416 (128; 96; 192)", "(0.00; 0)"], [416, None]),  # --print-metric-instances values
        (["1,234"], [1234]),
    ],
)
def test_numbers_in_any_language(texts: list[str], values: list[float | None]) -> None:
    assert ncu.numbers(pl.Series(texts)).to_list() == values


def test_shared_memory_is_what_the_program_asked_for(tmp_path: Path) -> None:
    columns = [f"launch__shared_mem_per_block{part}" for part in ("", "_driver", "_dynamic", "_static")]
    header = ",".join(f'"{column}"' for column in columns)
    units = ",".join(['""'] * 11 + ['"byte/block"'] * 4)
    part = ncu.read(_source(tmp_path, f'{LAUNCH},{header}\n{units}\n{ROW},"5,248","1,024","4,096","128"\n'))
    assert part.tables["dispatches"]["lds_bytes"].to_list() == [4224]


def test_ranges_are_no_kernels(tmp_path: Path) -> None:
    launch = LAUNCH.replace('"Block Size","Grid Size",', "")
    row = '"0","1","app","box","range","1","n/a","0","9.0","32","470,656"'
    text = f'{launch},"launch__block_dim_x","gpu__time_duration.sum"\n{row}\n'
    part = ncu.read(_source(tmp_path, text))
    assert _values(part) == {(0, "gpu__time_duration.sum"): 470_656}
    assert part.tables["dispatches"].select("kernel", "workgroup_x", "vgprs").rows() == [
        ("range", None, None)
    ]
    assert "ranges" in part.notices[0]


def test_what_the_device_can_do_is_no_counter(tmp_path: Path) -> None:
    names = [
        "sm__ops.sum.peak_sustained",
        "sm__ops.sum.peak_sustained_elapsed.per_second",
        "numa__cpu_affinity",
    ]
    kept = ["sm__ops.sum.pct_of_peak_sustained_elapsed", "SM_A.TriageCompute.l1tex__throughput.avg"]
    header = ",".join(f'"{name}"' for name in (*names, *kept))
    part = ncu.read(_source(tmp_path, f'{LAUNCH},{header}\n{ROW},"1","2","3","4","5"\n'))
    assert _values(part) == {(0, kept[0]): 4.0}


def test_charts_and_tables_below_the_sections_keep_their_own_names(tmp_path: Path) -> None:
    columns = '"Section Name","Body Item Label","Metric Name","Metric Unit","Metric Value"'
    text = (
        f"{LAUNCH},{columns}\n"
        f'{ROW},"GPU Speed Of Light Throughput","","SM Frequency","Ghz","1.9"\n'
        f'{ROW},"Roofline","DRAM Roofline","SM Frequency","Ghz","2.0"\n'
        f'{ROW},"Memory","Shared Memory","l1tex__data_bank_reads.sum","","7"\n'
        f'{ROW},"Speed","","Duration (gpu__time_duration.sum)","us","3"\n'
        '"0","NVIDIA H200","0","0-15","0"\n'
    )
    assert _values(ncu.read(_source(tmp_path, text))) == {
        (0, "gpc__cycles_elapsed.avg.per_second"): pytest.approx(1.9e9),
        (0, "DRAM Roofline: SM Frequency"): pytest.approx(2e9),
        (0, "l1tex__data_bank_reads.sum"): 7.0,
        (0, "gpu__time_duration.sum"): 3000.0,
    }


def test_summaries_of_kernels(tmp_path: Path) -> None:
    text = (
        '"Process ID","Process Name","Host Name","Kernel Name","Block Size","Grid Size","Device","CC","Invocations",'
        '"Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"\n'
        '"7","app","127.0.0.1","k(float *)","(64, 1, 1)","(2, 1, 1)","0","9.0","3","Speed","Duration","us","1.00",'
        '"3.00","2.00"\n'
        '"7","app","127.0.0.1","k(float *)","(64, 1, 1)","(2, 1, 1)","0","9.0","3","Launch","# SMs","SM","132","132",'
        '"132"\n'
    )
    source = _source(tmp_path, text)
    assert sniff(source).name == "ncu-csv"
    part = ncu.read(source)
    columns = ("name", "calls", "min_ns", "max_ns", "mean_ns", "total_ns")
    assert part.tables["summaries"].select(columns).rows() == [("k(float*)", 3, 1000, 3000, 2000, 6000)]
    assert part.tables["agents"].select("gfx", "cu_count").rows() == [("sm_90", 132)]
    assert set(part.tables["metrics"]["metric"]) == {"gpu__time_duration.sum", "launch__sm_count"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"NVR\x00\x02\x00", "report of Nsight Compute"),
        (b'"Kernel Name","k(int)",\n"Address","Source","# Samples"\n"0","MOV","1"\n', "source page"),
        (b'Launch Settings\n"Launch Attribute","Value"\n"Created","now"\n', "session page"),
        (
            b"==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - no permission\n",
            "ERR_NVGPUCTRPERM",
        ),
    ],
)
def test_what_has_no_metric_of_a_kernel_is_refused_with_a_way_out(
    tmp_path: Path, data: bytes, message: str
) -> None:
    file = tmp_path / "anything.dat"
    file.write_bytes(data)
    with pytest.raises(InputError, match=message):
        sniff(Source(file)).read(Source(file))


def test_kernels_are_laid_end_to_end_on_each_gpu() -> None:
    dispatches = pl.DataFrame(
        {
            "node": [0] * 4,
            "pid": [7] * 4,
            "pass_id": [0] * 4,
            "agent_id": [0, 1, 0, 0],
            "dispatch_id": [0, 1, 2, 3],
            "start_ns": pl.Series([None] * 4, dtype=pl.Int64),
            "end_ns": pl.Series([None] * 4, dtype=pl.Int64),
        }
    )
    key = {"node": 0, "pid": 7, "pass_id": 0}
    lengths = [(0, "gpu__time_duration.sum", 10.0), (1, "gpu__time_duration.avg", 5.0)]
    lengths += [(3, "gpu__time_duration.avg", 99.0), (3, "gpu__time_duration.sum", 7.0)]
    counters = pl.DataFrame([{**key, "dispatch_id": i, "counter": c, "value": v} for i, c, v in lengths])
    laid = ncu.laid_end_to_end(dispatches, counters)
    assert laid is not None
    assert laid.select("start_ns", "end_ns").rows() == [(0, 10), (0, 5), (None, None), (10, 17)]
    assert ncu.laid_end_to_end(dispatches, counters.filter(pl.col("value") < 0)) is None


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
