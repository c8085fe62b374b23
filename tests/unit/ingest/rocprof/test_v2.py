"""rocprofv2: wide CSV, tracer CSV and what it prints."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof import v2

NAME = "void gemm<float, 4>(float const*, int)"
NEW = (
    "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,"
    "SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID,XCC_Index,TCC_HIT[0],TCC_HIT[1],GRBM_COUNT\n\n"
    f'1,4,1,57,58,640,64,512,16,8,4,32,64,"{NAME} (.kd)",9007199254740993,9007199254740999,0,0,1,2,10\n'
    f'1,4,1,57,58,640,64,512,16,8,4,32,64,"{NAME} (.kd)",9007199254740993,9007199254740999,0,1,4,8,20\n'
    f'2,4,1,57,58,64,64,0,0,8,0,16,64,"add.kd",9007199254741001,9007199254741002,7,0,0,0,3\n'
)
OLD = (
    "Dispatch_ID,GPU_ID,Queue_ID,Queue_Index,PID,TID,GRD,WGR,LDS,SCR,Arch_VGPR,ACCUM_VGPR,SGPR,Wave_Size,SIG,OBJ,Kernel_Name,"
    "Start_Timestamp,End_Timestamp,Correlation_ID,SQ_WAVES\n"
    f'1,4,1,0,57,58,640,64,512,16,8,4,32,64,0x0,0x7f,"{NAME}",9007199254740993,9007199254740999,5,12\n'
)
API = (
    "Domain,Function,Start_Timestamp,End_Timestamp,Correlation_ID\n\n"
    'HIP_API_DOMAIN,"hipMalloc",9007199254740993,9007199254740999,1\n'
    f'HIP_API_DOMAIN,"hipLaunchKernel","{NAME}",9007199254741001,9007199254741002,2\n'
)
OPS = (
    "Domain,Operation,Kernel_Name,Start_Timestamp,Stop_Timestamp,Correlation_ID\n\n"
    f'HIP_OPS_DOMAIN,"KernelExecution","{NAME}",9007199254741003,9007199254741009,2\n'
    'HIP_OPS_DOMAIN,"CopyHostToDevice",,9007199254741010,9007199254741020,3\n'
    'HIP_OPS_DOMAIN,"Marker",,9007199254741010,9007199254741020,4\n'
)
ROCTX = (
    "Domain,ROCTX_ID,Message,Timestamp\n\n"
    'ROCTX_DOMAIN,0,"outer, all",9007199254741000\nROCTX_DOMAIN,3,"free",9007199254741001\n'
    'ROCTX_DOMAIN,0,"inner",9007199254741002\nROCTX_DOMAIN,0,,9007199254741003\nROCTX_DOMAIN,3,,9007199254741004\nROCTX_DOMAIN,0,,9007199254741005\n'
)
PRINTED = f"""ROCProfilerV2: Collecting the following counters:
- GRBM_COUNT
program output, not a record
Dispatch_ID(1), GPU_ID(4), Queue_ID(1), Process_ID(57), Thread_ID(58), Grid_Size(640), Workgroup_Size(64), LDS(512), \
Scratch_Size(16), Arch_VGPR(8), Accumulative_VGPR(4), SGPR(32), Wave_Size(64), Kernel_Name("{NAME}"), \
Begin_Timestamp(9007199254740993), End_Timestamp(9007199254740999), Correlation_ID(0), \
GRBM_COUNT(40539.000000), TCC_HIT[0](1.000000), TCC_HIT[1](2.000000)
Domain(HIP_API_DOMAIN), Function(hipMalloc), Start_Timestamp(9007199254740001), \
End_Timestamp(9007199254740002), Correlation_ID(1)
Domain(HSA_OPS_DOMAIN), Operation_Name(COPY), Start_Timestamp(9007199254740003), \
End_Timestamp(9007199254740004), Correlation_ID(2)
"""


def _read(folder: Path, text: str, adapter: str) -> Part:
    file = folder / "anything.dat"
    file.write_text(text)
    source = Source(file)
    claiming = [found for found in v2.ADAPTERS if found.claims(Peek(source))]
    assert [found.name for found in claiming] == [adapter]
    return claiming[0].read(source)


def test_dies_are_one_dispatch_and_instances_one_counter(tmp_path: Path) -> None:
    part = _read(tmp_path, NEW, "rocprofv2-counters-csv")
    assert part.losses == ()
    rows = (
        part.tables["dispatches"]
        .select("dispatch_id", "kernel", "start_ns", "end_ns", "correlation_id", "grid_x", "agprs")
        .rows()
    )
    assert rows == [
        (1, NAME, 9007199254740993, 9007199254740999, None, 640, 4),
        (2, "add", 9007199254741001, 9007199254741002, 7, 64, 0),
    ]
    assert part.tables["counters"].select("pid", "dispatch_id", "agent_id", "counter", "value").rows() == [
        (57, 1, 4, "TCC_HIT", 15.0),
        (57, 1, 4, "GRBM_COUNT", 30.0),
        (57, 2, 4, "TCC_HIT", 0.0),
        (57, 2, 4, "GRBM_COUNT", 3.0),
    ]


def test_layout_of_rocm_5(tmp_path: Path) -> None:
    part = _read(tmp_path, OLD, "rocprofv2-counters-csv")
    row = part.tables["dispatches"].row(0, named=True)
    assert (row["pid"], row["tid"], row["correlation_id"]) == (57, 58, 5)
    assert (row["grid_x"], row["workgroup_x"], row["lds_bytes"], row["scratch_bytes"], row["agprs"]) == (
        640,
        64,
        512,
        16,
        4,
    )
    assert part.tables["counters"].select("counter", "value").rows() == [("SQ_WAVES", 12.0)]


def test_tracer_calls_may_have_a_kernel_that_the_header_has_not(tmp_path: Path) -> None:
    part = _read(tmp_path, API, "rocprofv2-tracer-csv")
    assert part.losses == ()
    assert part.tables["api_calls"].select(
        "domain", "name", "start_ns", "end_ns", "correlation_id"
    ).rows() == [
        ("hip", "hipMalloc", 9007199254740993, 9007199254740999, 1),
        ("hip", "hipLaunchKernel", 9007199254741001, 9007199254741002, 2),
    ]


def test_tracer_operations(tmp_path: Path) -> None:
    tables = _read(tmp_path, OPS, "rocprofv2-tracer-csv").tables
    assert tables["dispatches"].select("kernel", "start_ns", "correlation_id").rows() == [
        (NAME, 9007199254741003, 2)
    ]
    assert tables["copies"].select("kind", "end_ns", "correlation_id").rows() == [
        ("H2D", 9007199254741020, 3)
    ]


def test_tracer_ranges(tmp_path: Path) -> None:
    part = _read(tmp_path, ROCTX, "rocprofv2-tracer-csv")
    assert part.losses == ()
    assert part.tables["ranges"].select("name", "start_ns", "end_ns").rows() == [
        ("outer, all", 9007199254741000, 9007199254741005),
        ("free", 9007199254741001, 9007199254741004),
        ("inner", 9007199254741002, 9007199254741003),
    ]


def test_marks_that_cannot_be_told_from_pushes_get_no_end(tmp_path: Path) -> None:
    part = _read(tmp_path, ROCTX + 'ROCTX_DOMAIN,0,"mark",9007199254741006\n', "rocprofv2-tracer-csv")
    assert part.tables["ranges"]["end_ns"].to_list() == [None, 9007199254741004, None, None]
    assert part.losses == ()
    assert "marks" in part.notices[0]


def test_a_numbered_range_that_never_stops_is_lost_beside_marks_too(tmp_path: Path) -> None:
    lines = 'ROCTX_DOMAIN,0,"mark",9007199254741006\nROCTX_DOMAIN,9,"open",9007199254741007\n'
    part = _read(tmp_path, ROCTX + lines, "rocprofv2-tracer-csv")
    assert [(loss.what, loss.records) for loss in part.losses] == [("ranges that were never closed", 1)]


def test_printed_records(tmp_path: Path) -> None:
    part = _read(tmp_path, PRINTED, "rocprofv2-text")
    assert part.losses == ()
    row = part.tables["dispatches"].row(0, named=True)
    assert (row["kernel"], row["start_ns"], row["pid"], row["lds_bytes"], row["scratch_bytes"]) == (
        NAME,
        9007199254740993,
        57,
        512,
        16,
    )
    assert part.tables["counters"].select("dispatch_id", "counter", "value").rows() == [
        (1, "GRBM_COUNT", 40539.0),
        (1, "TCC_HIT", 3.0),
    ]
    assert part.tables["api_calls"]["name"].to_list() == ["hipMalloc"]
    assert part.tables["copies"].select("kind", "start_ns").rows() == [("UNKNOWN", 9007199254740003)]


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    part = _read(tmp_path, PRINTED + "Domain(HIP_API_DOMAIN), Function(hipFr", "rocprofv2-text")
    assert [loss.records for loss in part.losses] == [1]


def test_thousands_of_different_counters_stay_small(tmp_path: Path) -> None:
    line = PRINTED.splitlines()[3].split(", GRBM_COUNT")[0]
    text = "\n".join(f"{line}, C{i}({i})" for i in range(20_000))
    assert _read(tmp_path, text, "rocprofv2-text").tables["counters"].height == 20_000


def test_nothing_recorded_and_pc_samples(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, "ROCProfilerV2: Collecting the following counters:\n- GRBM_COUNT\n", "rocprofv2-text")
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, API.split("\n", maxsplit=1)[0] + "\n\n", "rocprofv2-tracer-csv")
    with pytest.raises(InputError, match="rocprofv3"):
        _read(
            tmp_path,
            "Dispatch_ID,Timestamp,GPU_ID,PC_Sample,Shader_Engines\n1,2,3,0x4,5\n",
            "rocprofv2-pc-samples",
        )


@pytest.mark.parametrize("adapter", v2.ADAPTERS[:3], ids=lambda adapter: adapter.name)
@given(data=st.data())
def test_no_damage_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, adapter: Adapter, data: st.DataObject
) -> None:
    whole = data.draw(st.sampled_from([NEW, OLD, API, OPS, ROCTX, PRINTED])).encode()
    at, cut, junk = (
        data.draw(st.integers(0, len(whole))),
        data.draw(st.integers(0, len(whole))),
        data.draw(st.binary(max_size=12)),
    )
    file = tmp_path_factory.getbasetemp() / "v2_mutated.txt"
    file.write_bytes((whole[:at] + junk + whole[at:])[: cut + len(junk)])
    with suppress(InputError, EmptyCaptureError):
        assert isinstance(adapter.read(Source(file)), Part)


def _specimen(specimens: Path, name: str) -> Part:
    return v2.read_printed(Source(specimens / "rocprof_v2" / f"ROCm_rocprofiler__{name}.txt"))


def test_specimens(specimens: Path) -> None:
    hip = _specimen(specimens, "profiler_hip_vectoradd_golden_traces")
    assert hip.tables["counters"].select("pid", "agent_id", "counter", "value").rows() == [
        (2185273, 4, "GRBM_COUNT", 40539.0)
    ]
    mpi = _specimen(specimens, "profiler_mpi_vectoradd_golden_traces")
    assert mpi.tables["dispatches"].select("pid", "agent_id", "start_ns").rows() == [
        (2185441, 5, 139857691152944),
        (2185436, 4, 140429257347632),
    ]
    hsa = _specimen(specimens, "tracer_hsa_api_async_trace")
    assert {name: table.height for name, table in hsa.tables.items()} == {"api_calls": 64, "copies": 6}
    transposed = _specimen(specimens, "tracer_matrix_transpose_golden_trace").tables["ranges"]
    assert (transposed.height, transposed["end_ns"].null_count()) == (50, 40)
    assert transposed.drop_nulls("end_ns")["name"].unique().to_list() == ["roctx_range with id"]
    with pytest.raises(EmptyCaptureError):
        _specimen(specimens, "profiler_hsa_async_mem_copy_golden_traces")
