"""rocprof-compute: every file of a workload folder gives its table, and counters keep their sums."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load_path
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof_compute import config
from rocm_perf.ingest.rocprof_compute import workload as rocprof_compute
from tests.unit.ingest.damage import damaged_file

NAME = "void add<float, 4>(float const*, int)"
WIDE = (
    "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,"
    "Accum_VGPR,SGPR,wave_size,obj,SQ_WAVES,TCC_HIT[0],TCC_HIT[1],TCC_HIT_sum,wave_size_1,obj_1,Start_Timestamp,End_Timestamp\n"
    f'0,"{NAME} [clone .kd]",2,1048576,256,512,16,8,4,32,64,0x7f,16384,10,20.5,31,64,0x7f,'
    f"9007199254740993,9007199254740999\n"
    f'1,"{NAME} [clone .kd]",2,1048576,256,512,16,8,4,32,64,0x7f,,10,,n/a,64,0x7f,1.62068E+14,1.62068E+14\n'
)
LONG = (
    "GPU_ID,Dispatch_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,"
    "Kernel_Name,Start_Timestamp,End_Timestamp,Kernel_ID,Counter_Name,Counter_Value\n"
    f'2,1,640,64,0,0,4,4,16,"{NAME}",100,200,12,TCC_HIT[0],512.0\n'
    f'2,1,640,64,0,0,4,4,16,"{NAME}",100,200,12,TCC_HIT[1],590.0\n'
    f'2,1,640,64,0,0,4,4,16,"{NAME}",300,400,12,SQ_WAVES,10.0\n'
)
SYSINFO = (
    "workload_name,command,version,hostname,linux_distro,gpu_memory,gpu_model,gpu_arch,cu_per_gpu,simd_per_cu,"
    "wave_size,max_waves_per_cu,max_sclk,num_xcd,timestamp\n"
    'vcopy,"./vcopy -n 1, 2",3,box,Ubuntu 24.04,1024,MI300X_A1,gfx942,304,4,64,32,0,8,today\n'
)
ROOFLINE = (
    "device,HBMBw,HBMBwLow,hbmBwHigh,FP32Flops,FP32FlopsLow,FP32FlopsHigh,MFMAI8Ops,MFMAFI8OpsLow,MFMAI8OpsHigh\n"
    "0,4171.5,4169.4,4173.5,128882.9,128638.9,129126.9,985312.9,984345.1,986280.6\n"
    "1,4170.5,4169.4,4173.5,0,0,0,985312.9,984345.1,986280.6\n"
)
ANALYSIS = "Metric,Avg,Unit,Peak,Pct of Peak\nVALU FLOPs,125.8,Gflop,72089.6,0.17\nVALU IOPs,,Giop,,\n"
SETTINGS = (
    ""
    "mode: profile\nname: vcopy\npath: /app/workloads\nremaining:\n- --\n- tests/vcopy\n- -n\n- '1048576'\nverbose: 1\n"
)


def _source(folder: Path, text: str, name: str = "anything.dat") -> Source:
    file = folder / name
    file.write_text(text)
    return Source(file)


def _read(source: Source) -> Part:
    peek = Peek(source)
    return next(adapter for adapter in rocprof_compute.ADAPTERS if adapter.claims(peek)).read(source)


def _counter(part: Part, dispatch: int, name: str) -> float:
    rows = part.tables["counters"].filter((pl.col("dispatch_id") == dispatch) & (pl.col("counter") == name))
    return float(rows["value"].item())


def test_wide_counters_are_summed_over_channels_and_kept_beside_the_tools_own_sum(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, WIDE))
    assert _counter(part, 0, "TCC_HIT") == 30.5
    assert _counter(part, 0, "TCC_HIT_sum") == 31
    assert set(part.tables["counters"]["counter"]) == {"SQ_WAVES", "TCC_HIT", "TCC_HIT_sum"}


def test_a_counter_with_a_channel_missing_is_absent_not_smaller(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, WIDE))
    assert part.tables["counters"].filter(pl.col("dispatch_id") == 1).height == 0
    assert [(loss.what, loss.records) for loss in part.losses] == [("counter values that are not numbers", 1)]


def test_dispatches_keep_every_digit_and_drop_rounded_times(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, WIDE))
    first, second = part.tables["dispatches"].rows(named=True)
    assert (first["kernel"], first["agent_id"], first["start_ns"], first["end_ns"]) == (
        NAME,
        2,
        9007199254740993,
        9007199254740999,
    )
    assert (first["grid_x"], first["grid_y"], first["workgroup_x"]) == (1048576, 1, 256)
    assert (first["lds_bytes"], first["scratch_bytes"], first["vgprs"], first["agprs"], first["sgprs"]) == (
        512,
        16,
        8,
        4,
        32,
    )
    assert second["start_ns"] is None
    assert any("rounded" in notice for notice in part.notices)
    assert any("several runs" in notice for notice in part.notices)


def test_long_counters_are_summed_over_channels(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, LONG))
    assert _counter(part, 1, "TCC_HIT") == 1102
    assert part.tables["dispatches"].select("dispatch_id", "start_ns", "end_ns").rows() == [(1, 100, 200)]


def test_rows_of_several_dies_are_one_dispatch(tmp_path: Path) -> None:
    header = "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,XCC_Index,SQ_WAVES\n"
    part = _read(_source(tmp_path, header + "0,k,2,64,64,0,0,5\n0,k,2,64,64,0,1,7\n"))
    assert part.tables["dispatches"].height == 1
    assert _counter(part, 0, "SQ_WAVES") == 12


def test_a_repeated_dispatch_without_dies_is_counted_as_lost(tmp_path: Path) -> None:
    header = "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,SQ_WAVES\n"
    part = _read(_source(tmp_path, header + "0,k,2,64,64,0,5\n0,k,2,64,64,0,7\n,k,2,64,64,0,9\n"))
    assert _counter(part, 0, "SQ_WAVES") == 5
    assert sorted(loss.records or 0 for loss in part.losses) == [1, 1]


def test_rocprofv2s_own_csv_is_left_to_its_adapter(tmp_path: Path) -> None:
    v2 = (
        "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Kernel_Name,"
        "Correlation_ID,SQ_WAVES\n"
    )
    peek = Peek(_source(tmp_path, v2))
    assert not any(adapter.claims(peek) for adapter in rocprof_compute.ADAPTERS)
    converted = Peek(_source(tmp_path, v2.replace("Correlation_ID", "Correlation_ID,Kernel_ID"), "b"))
    assert any(adapter.claims(converted) for adapter in rocprof_compute.ADAPTERS)


def test_omniperf_1s_rocprof_layout_is_left_to_its_adapter(tmp_path: Path) -> None:
    peek = Peek(_source(tmp_path, "Index,KernelName,gpu-id,queue-id,grd,wgr,lds,SQ_WAVES\n"))
    assert not any(adapter.claims(peek) for adapter in rocprof_compute.ADAPTERS)


def test_dispatch_list_gives_kernels(tmp_path: Path) -> None:
    part = _read(
        _source(tmp_path, f'Dispatch_ID,Kernel_Name,GPU_ID\n0,"{NAME} (.kd)",2\n1,"{NAME} (.kd)",2\n')
    )
    assert part.tables["kernels"]["kernel"].to_list() == [NAME]
    assert "dispatches" not in part.tables


def test_sysinfo_describes_gpu_and_run(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, SYSINFO))
    gpu = part.tables["agents"].row(0, named=True)
    assert (gpu["gfx"], gpu["name"], gpu["cu_count"], gpu["simd_count"], gpu["xcc_count"]) == (
        "gfx942",
        "MI300X_A1",
        304,
        1216,
        8,
    )
    assert (gpu["max_waves_per_simd"], gpu["memory_bytes"], gpu["clock_mhz"]) == (8, 1 << 20, None)
    assert (part.host, part.command, part.recorded_at) == ("box", "./vcopy -n 1, 2", "today")


def test_sysinfo_without_a_row_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(_source(tmp_path, SYSINFO.splitlines()[0] + "\n"))


def test_roofline_spells_peaks_alike_and_leaves_out_what_was_not_measured(tmp_path: Path) -> None:
    ceilings = _read(_source(tmp_path, ROOFLINE)).tables["ceilings"]
    assert ceilings.select("agent_id", "ceiling", "unit").rows() == [
        (0, "hbm", "GB/s"),
        (1, "hbm", "GB/s"),
        (0, "fp32", "GFLOP/s"),
        (0, "mfma_i8", "GOP/s"),
        (1, "mfma_i8", "GOP/s"),
    ]
    hbm, int8 = ceilings.row(0, named=True), ceilings.row(3, named=True)
    assert (hbm["value"], hbm["low"], hbm["high"]) == (4171.5, 4169.4, 4173.5)
    assert (int8["low"], int8["high"]) == (984345.1, 986280.6)


def test_a_peak_that_no_gpu_measured_is_told(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, ROOFLINE.replace("128882.9,128638.9,129126.9", "0,0,0")))
    assert part.notices == ("not measured on any GPU (recorded as 0): fp32",)


def test_analysis_tables_become_metrics(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, ANALYSIS, "2.1_System_Speed-of-Light.csv"))
    assert part.tables["metrics"].select("metric", "group", "statistic", "value", "unit").rows() == [
        ("VALU FLOPs", "2.1 System Speed-of-Light", "avg", 125.8, "Gflop"),
        ("VALU FLOPs", "2.1 System Speed-of-Light", "peak", 72089.6, "Gflop"),
        ("VALU FLOPs", "2.1 System Speed-of-Light", "pct_of_peak", 0.17, "Pct"),
    ]


def test_top_kernels_become_summaries(tmp_path: Path) -> None:
    part = _read(
        _source(
            tmp_path,
            f'Kernel_Name,Count,Sum(ns),Mean(ns),Median(ns),Pct\n"{NAME}.kd",3,300.0,100.0,100.0,60.0\n',
        )
    )
    row = part.tables["summaries"].row(0, named=True)
    assert (row["name"], row["calls"], row["total_ns"], row["mean_ns"], row["percent"]) == (
        NAME,
        3,
        300.0,
        100.0,
        60.0,
    )


@pytest.mark.parametrize(
    "remaining", ["remaining:\n- --\n- tests/vcopy\n- -n\n- '1048576'", "remaining: 'tests/vcopy -n 1048576'"]
)
def test_settings_name_the_application(tmp_path: Path, remaining: str) -> None:
    text = f"mode: profile\npath: /app\n{remaining}\nverbose: 1\n"
    assert _read(_source(tmp_path, text)).command == "tests/vcopy -n 1048576"


def test_settings_without_an_application(tmp_path: Path) -> None:
    assert _read(_source(tmp_path, "mode: profile\npath: /app\nremaining:\nverbose: 1\n")).command is None


@pytest.mark.parametrize(
    "text",
    [WIDE, LONG, SYSINFO, ROOFLINE, ANALYSIS, SETTINGS],
    ids=["wide", "long", "sysinfo", "roofline", "analysis", "settings"],
)
@given(data=st.data())
def test_any_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    file = damaged_file(tmp_path_factory, text.encode(), data)
    peek = Peek(Source(file))
    for adapter in rocprof_compute.ADAPTERS:
        if peek.head.strip() and adapter.claims(peek):
            with suppress(RocmPerfError):
                adapter.read(Source(file))


def test_counter_columns_leave_out_what_describes_the_dispatch() -> None:
    columns = [
        "Dispatch_ID",
        "Wave_Size_12",
        "obj_3",
        "Kernel_ID_1",
        "XCC_Index",
        "SQC_DCACHE_REQ_READ_1",
        "TCC_HIT[0]",
        "TCC_HIT[15]",
    ]
    assert rocprof_compute.counter_columns(columns) == {
        "SQC_DCACHE_REQ_READ_1": ["SQC_DCACHE_REQ_READ_1"],
        "TCC_HIT": ["TCC_HIT[0]", "TCC_HIT[15]"],
    }


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("HBMBw", ("hbm", "GB/s")),
        ("MFMABF16Flops", ("mfma_bf16", "GFLOP/s")),
        ("BF16Flops", ("bf16", "GFLOP/s")),
        ("device", None),
        ("HBMBwLow", None),
    ],
)
def test_ceiling_names(column: str, expected: tuple[str, str] | None) -> None:
    assert config.ceiling_of(column) == expected


@pytest.mark.parametrize(
    ("name", "dispatches", "counters"),
    [
        ("ROCm_rocm-systems__vcopy_MI100_pmc_perf.csv", 3, 708),
        ("ROCm_rocm-systems__vcopy_MI100_timestamps.csv", 3, 0),
        ("ROCm_rocm-systems__vcopy_MI350_pmc_perf.csv", 3, 795),
        ("ROCm_rocm-systems__vcopy_MI350_pmc_perf_0.csv", 3, 72),
        ("ROCm_rocm-systems__vcopy_MI300X_A1_rocpd_pmc_perf.csv.gz", 3, 693),
        ("ROCm_roc-optiq__optiq_pmc_perf.csv", 8, 2120),
        ("AMDResearch_intellikit__bank_conflict_pmc_perf.csv", 1, 265),
    ],
)
def test_specimens(specimens: Path, name: str, dispatches: int, counters: int) -> None:
    part = _read(Source(specimens / "rocprof_compute" / name))
    assert part.losses == ()
    assert part.tables["dispatches"].height == dispatches
    assert (part.tables["counters"].height if counters else 0) == counters


def test_specimen_values_agree_with_a_plain_reader(specimens: Path) -> None:
    file = specimens / "rocprof_compute" / "ROCm_rocm-systems__vcopy_MI350_pmc_perf.csv"
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    part = _read(Source(file))
    for dispatch, row in enumerate(rows):
        assert _counter(part, dispatch, "TCC_HIT") == sum(
            float(v) for k, v in row.items() if k.startswith("TCC_HIT[")
        )
        assert _counter(part, dispatch, "TCC_HIT_sum") == float(row["TCC_HIT_sum"])
    assert part.tables["dispatches"]["start_ns"].to_list() == [
        int(row["Start_Timestamp"].partition(".")[0]) for row in rows
    ]


def test_specimen_roofline_of_eight_gpus(specimens: Path) -> None:
    part = _read(Source(specimens / "rocprof_compute" / "ROCm_roc-optiq__optiq_roofline.csv"))
    hbm = (
        part.tables["ceilings"]
        .filter((pl.col("ceiling") == "hbm") & (pl.col("agent_id") == 2))
        .row(0, named=True)
    )
    assert (part.tables["ceilings"].height, hbm["value"]) == (80, 2021.7013)
    assert part.notices == ("not measured on any GPU (recorded as 0): mfma_bf16, mfma_i8",)


def test_tables_in_a_folder_of_their_own_belong_to_the_workload_above(tmp_path: Path) -> None:
    (tmp_path / "analyze").mkdir()
    (tmp_path / "pmc_perf.csv").write_text(WIDE)
    (tmp_path / "analyze" / "2.1_Speed-of-Light.csv").write_text(ANALYSIS)
    (run,) = load_path(tmp_path)
    assert run.trace is not None
    assert (run.trace.rows("dispatches"), run.trace.rows("metrics")) == (2, 3)


def test_workloads_beside_one_another_are_runs_of_their_own(tmp_path: Path) -> None:
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pmc_perf.csv").write_text(WIDE)
    assert len(load_path(tmp_path)) == 2
