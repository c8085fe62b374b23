"""rocprofv3 CSV: every layout gives the same tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.rocprofv3 import csv_traces
from rocm_perf.ingest.sniff import sniff

NAME = "void gemm<float, 4>(float const*, int)"
OLD = (
    "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,"
    "Private_Segment_Size,Group_Segment_Size,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
    f'"KERNEL_DISPATCH",4,1,77,1,9,"{NAME}",5,9007199254740993,9007199254740999,16,1024,64,1,1,640,1,1\n'
)
NEW = (
    "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,"
    "LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,"
    "Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
    f'"KERNEL_DISPATCH","Agent 4",1,0,77,1,9,"{NAME}",5,9007199254740993,9007199254740999,'
    "1024,16,8,0,32,64,1,1,640,1,1\n"
)
# `rocpd convert -f csv` of ROCm 7.1 puts a Guid first and spells the registers differently.
CONVERTED = "Guid," + (
    NEW.replace("LDS_Block_Size", "Lds_Block_Size")
    .replace("Accum_VGPR_Count", "Accum_Vgpr_Count")
    .replace("VGPR_Count", "Vgpr_Count")
    .replace("SGPR_Count", "Sgpr_Count")
    .replace('"KERNEL_DISPATCH"', '"0000-1111","KERNEL_DISPATCH"')
)


def _read(tmp_path: Path, text: str) -> dict[str, object]:
    file = tmp_path / "anything.dat"
    file.write_text(text)
    source = Source(file)
    return sniff(source).read(source).tables["dispatches"].row(0, named=True)


@pytest.mark.parametrize("text", [OLD, NEW], ids=["18 columns", "22 columns"])
def test_kernel_trace_of_any_release(tmp_path: Path, text: str) -> None:
    row = _read(tmp_path, text)
    assert row["kernel"] == NAME
    assert (row["start_ns"], row["end_ns"]) == (9007199254740993, 9007199254740999)
    assert (row["agent_id"], row["lds_bytes"], row["scratch_bytes"]) == (4, 1024, 16)
    assert (row["grid_x"], row["workgroup_x"]) == (640, 64)


def test_a_row_cut_off_is_counted_not_guessed(tmp_path: Path) -> None:
    file = tmp_path / "kernel_trace.csv"
    file.write_text(OLD + '"KERNEL_DISPATCH",4,1,77,2,9,"x')
    part = csv_traces.read_kernel_trace(Source(file))
    assert part.tables["dispatches"].height == 1
    assert [loss.records for loss in part.losses] == [1]


def test_both_dialects_of_one_run_give_one_trace(tmp_path: Path) -> None:
    assert _read(tmp_path, NEW) == _read(tmp_path, CONVERTED)


API = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"


def test_markers_become_ranges_and_domains_one_word(tmp_path: Path) -> None:
    file = tmp_path / "api.csv"
    file.write_text(
        API
        + '"HIP_RUNTIME_API_EXT","hipLaunchKernel",70,71,5,10,20\n'
        + '"HSA_CORE_API","hsa_init",70,71,6,1,2\n'
        + '"MARKER_CORE_API","step, one",70,71,7,5,30\n'
    )
    tables = csv_traces.read_api_trace(Source(file)).tables
    assert tables["api_calls"].select("domain", "name", "pid", "tid").rows() == [
        ("hip", "hipLaunchKernel", 70, 71),
        ("hsa", "hsa_init", 70, 71),
    ]
    assert tables["ranges"].select("name", "source", "start_ns", "end_ns").rows() == [
        ("step, one", "roctx", 5, 30)
    ]


def test_counter_instances_are_summed_and_dispatches_listed_once(tmp_path: Path) -> None:
    file = tmp_path / "counters.csv"
    file.write_text(
        "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,"
        "LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value\n"
        '1,1,"Agent 2",1,9,9,1024,3,"k",64,0,0,8,16,"TCC_HIT",4195840.000000\n'
        '1,1,"Agent 2",1,9,9,1024,3,"k",64,0,0,8,16,"TCC_HIT",1.0e+01\n'
        '1,1,"Agent 2",1,9,9,1024,3,"k",64,0,0,8,16,"SQ_WAVES",0.00000000e+00\n'
    )
    tables = csv_traces.read_counters(Source(file)).tables
    assert tables["counters"].select("counter", "value").rows() == [("TCC_HIT", 4195850.0), ("SQ_WAVES", 0.0)]
    assert tables["dispatches"].select("kernel", "grid_x", "grid_y", "start_ns").rows() == [
        ("k", 1024, 1, None)
    ]
