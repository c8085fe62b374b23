"""Small rocprofv3 CSV recordings, as a run leaves them in its folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

KERNEL_HEADER = (
    "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,"
    "Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,"
    "Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
)
OLD_KERNEL_HEADER = (
    "Kind,Agent_Id,Queue_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,"
    "Private_Segment_Size,Group_Segment_Size,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,"
    "Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
)
API_HEADER = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
AGENT_HEADER = "Node_Id,Logical_Node_Id,Agent_Type,Gfx_Target_Version,Wave_Front_Size,Name,Product_Name\n"
COUNTER_HEADER = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,"
    "Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value\n"
)
TIMED_COUNTER_HEADER = COUNTER_HEADER.rstrip() + ",Start_Timestamp,End_Timestamp\n"


def _write(file: Path, header: str, rows: Iterable[str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(header + "".join(rows))
    return file


def kernel_trace(file: Path, start: int = 1000, count: int = 3, kernel: str = "gemm") -> Path:
    """Dispatches 1..count, each 10 ns long, every 20 ns."""
    return _write(
        file,
        KERNEL_HEADER,
        (
            f'"KERNEL_DISPATCH","Agent 4",1,0,7,{n},9,"{kernel}",{n},{start + 20 * n},{start + 20 * n + 10},'
            "0,0,8,0,32,64,1,1,640,2,1\n"
            for n in range(1, count + 1)
        ),
    )


def old_kernel_trace(file: Path, start: int = 1000, count: int = 3) -> Path:
    """The layout of ROCm 6.2: no dispatch id, no registers."""
    return _write(
        file,
        OLD_KERNEL_HEADER,
        (
            f'"KERNEL_DISPATCH",4,1,9,"gemm",{n},{start + 20 * n},{start + 20 * n + 10},0,512,64,1,1,640,2,1\n'
            for n in range(1, count + 1)
        ),
    )


def api_trace(file: Path, pid: int, start: int = 1000) -> Path:
    return _write(
        file, API_HEADER, [f'"HIP_RUNTIME_API","hipLaunchKernel",{pid},{pid},1,{start},{start + 50}\n']
    )


def agent_info(file: Path, product: str = "") -> Path:
    return _write(file, AGENT_HEADER, [f'4,1,"GPU",90402,64,"gfx942","{product}"\n'])


def counters(file: Path, *names: str, pid: int = 77, count: int = 3, start: int | None = None) -> Path:
    """Counters of dispatches 1..count; with times only if `start` is given, as in newer releases."""
    rows = [
        f'{n},{n},4,1,{pid},{pid},1280,9,"gemm",64,512,0,24,48,"{name}",{100 * n}'
        + ("\n" if start is None else f",{start + 20 * n},{start + 20 * n + 10}\n")
        for n in range(1, count + 1)
        for name in names
    ]
    return _write(file, COUNTER_HEADER if start is None else TIMED_COUNTER_HEADER, rows)


def torch_trace(file: Path, start_us: int = 1) -> Path:
    """One kernel and the call that launched it, as torch.profiler writes them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    args = '{"External id": 1, "correlation": 1, "device": 0, "stream": 0}'
    file.write_text(
        '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": ['
        f'{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 0, "ts": {start_us}, "dur": 1, '
        f'"args": {args}}}]}}'
    )
    return file
