"""rocprofv3 CSV: every layout gives the same tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.ingest import v3_csv
from rocm_perf.ingest.io.source import Source
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
    f'"KERNEL_DISPATCH","Agent 4",1,0,77,1,9,"{NAME}",5,9007199254740993,9007199254740999,1024,16,8,0,32,64,1,1,640,1,1\n'
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
    part = v3_csv.read_kernel_trace(Source(file))
    assert part.tables["dispatches"].height == 1
    assert [loss.records for loss in part.losses] == [1]
