"""One small valid recording of every format that is not text: SQLite, protobuf, our own tracer's."""

# ruff: noqa: E501  (a line holds what belongs together)

from __future__ import annotations

import pickle
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tests import rptrace, xplane
from tests.fuzz.seeds import BIG, NAME
from tests.torch_training import train

# Columns in one string, then the rows.
Table = tuple[str, Sequence[Sequence[object]]]
Tables = Mapping[str, Table]

_ROCPD = "_00000a10_7bc0_7bc0_a1ef_000000000001"

ROCPD: Tables = {
    "string": ("id string", [(1, "KERNEL_DISPATCH"), (2, "HIP_RUNTIME_API_EXT"), (3, "hipLaunchKernel"),
                             (4, "MARKER_CORE_RANGE_API"), (5, "MEMORY_COPY_HOST_TO_DEVICE")]),
    "info_node": ("id machine_id system_name hostname release", [(7, "m", "Linux", "box", "6.1")]),
    "info_process": ("id guid nid ppid pid start end command", [(1, "g", 7, 4, 6, 1, 9, "./app")]),
    "info_thread": ("id nid pid tid", [(1, 7, 1, 8)]),
    "info_agent": ("id nid pid type absolute_index type_index name product_name extdata",
                   [(8, 7, 1, "GPU", 4, 0, "gfx942", "MI300X", '{"cu_count": 304, "num_xcc": 8}')]),
    "info_code_object": ("id uri", [(3, "memory://6")]),
    "info_kernel_symbol": ("id pid code_object_id kernel_name display_name arch_vgpr_count sgpr_count",
                           [(9, 1, 3, "_Z4gemm.kd", NAME, 32, 96)]),
    "info_pmc": ("id agent_id name units is_derived block", [(1, 8, "SQ_WAVES", "count", 0, "SQ")]),
    "event": ("id category_id stack_id correlation_id extdata",
              [(1, 1, 41, 0, "{}"), (2, 2, 41, 0, "{}"), (3, 4, 42, 0, '{"message": "step 1"}')]),
    "region": ("id nid pid tid start end name_id event_id", [(1, 7, 1, 1, BIG, BIG + 5, 3, 2),
                                                             (2, 7, 1, 1, BIG, BIG + 9, 3, 3)]),
    "kernel_dispatch": (
        "id nid pid tid agent_id kernel_id dispatch_id queue_id stream_id start end private_segment_size "
        "group_segment_size workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y "
        "grid_size_z region_name_id event_id",
        [(1, 7, 1, 1, 8, 9, 1, 2, 5, BIG, BIG + 6, 0, 512, 64, 1, 1, 640, 1, 1, 1, 1)],
    ),
    "memory_copy": ("id nid pid tid start end name_id dst_agent_id src_agent_id size event_id",
                    [(1, 7, 1, 1, BIG, BIG + 6, 5, 8, 8, 4096, 2)]),
    "memory_allocate": ("id nid pid tid agent_id type level start end address size extdata",
                        [(1, 7, 1, 1, 8, "ALLOC", "REAL", BIG, BIG + 1, 4096, 64, "{}")]),
    "pmc_event": ("id event_id pmc_id value", [(1, 1, 1, 64.0)]),
    "sample": ("id track_id timestamp event_id", [(1, 1, BIG, 2)]),
    "track": ("id nid pid tid name_id", [(1, 7, 1, 1, 3)]),
}  # fmt: skip

DATABASES: dict[str, Tables] = {
    "rocpd": {f"rocpd_{name}{_ROCPD}": table for name, table in ROCPD.items()},
    "rpd": {
        "rocpd_string": ("id string", [(1, "hipLaunchKernel"), (2, "KernelExecution"), (3, NAME), (4, "UserMarker"),
                                       (5, "CopyHostToDevice"), (6, "step 1")]),
        "rocpd_api": ("id pid tid start end apiName_id args_id", [(1, 6, 7, BIG, BIG + 5, 1, 6), (2, 6, 7, BIG, BIG + 9, 4, 6)]),
        "rocpd_op": ("id gpuId queueId sequenceId start end description_id opType_id",
                     [(1, 2, 0, 0, BIG, BIG + 5, 3, 2), (2, 2, 0, 0, BIG, BIG + 7, 5, 5)]),
        "rocpd_api_ops": ("id api_id op_id", [(1, 1, 1), (2, 1, 2)]),
        "rocpd_kernelapi": ("api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize "
                            "privateSegmentSize kernelName_id codeObject_id", [(1, "0x7f", 4, 1, 1, 64, 1, 1, 0, 0, 3, 1)]),
        "rocpd_copyapi": ("api_ptr_id stream size kind", [(1, "0x7f", 4096, 1)]),
        "rocpd_monitor": ("id deviceType deviceId monitorType start end value", [(1, "gpu", 0, "sclk", BIG, BIG + 9, "132")]),
    },
    "v1_database": {
        "HIP": ("BeginNs EndNs pid tid Name args Index", [(BIG, BIG + 5, 6, 7, "hipLaunchKernel", "(sizeBytes(64))", 0)]),
        "OPS": ('BeginNs EndNs "dev-id" "queue-id" Name pid tid Index "proc-id"', [(BIG, BIG + 5, 0, 1, NAME, 6, 7, 0, 6)]),
        "COPY": ("BeginNs EndNs Name pid tid Index", [(BIG, BIG + 5, "CopyHostToDevice", 6, 7, 0)]),
        "KERN": ('"Index" KernelName "gpu-id" BeginNs EndNs SQ_WAVES', [(0, f'"{NAME}"', 0, BIG, BIG + 5, 64)]),
    },
    "compute_database": {
        "compute_workload": ("workload_id name sys_info_extdata roofline_bench_extdata",
                             [(1, "w", '{"hostname": "box", "gpu_arch": "gfx942", "cu_per_gpu": 304}', '{"HBMBw": 4885.5}')]),
        "compute_metadata": ("id compute_version", [(1, "3.5.0")]),
        "compute_kernel": ("kernel_uuid workload_id kernel_name", [(7, 1, NAME)]),
        "compute_dispatch": ("kernel_uuid dispatch_id gpu_id start_timestamp end_timestamp", [(7, 0, 3, BIG, BIG + 6)]),
        "compute_metric_definition": ("metric_uuid workload_id name table_name sub_table_name unit",
                                      [(1, 1, "VALU FLOPs", "Speed", "Speed", "Gflop/s")]),
        "compute_kernel_metric_value": ("metric_uuid kernel_uuid value_name value", [(1, 7, "Avg", 12.5)]),
        "compute_pcsampling": ('kernel_uuid source instruction count "offset" count_issue count_stall stall_reason',
                               [(7, "a.hip:3", "v_add", 5, 64, 3, 2, '{"WAITCNT": 2}')]),
    },
    "nsys": {
        "StringIds": ("id value", [(1, "gemm"), (2, "cudaLaunchKernel_v7000"), (3, "step 1")]),
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            "start end deviceId streamId correlationId globalPid demangledName shortName mangledName gridX gridY gridZ "
            "blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread registersPerThread graphId",
            [(10, 20, 0, 7, 5, 6 << 24, 1, 1, 1, 4, 1, 1, 64, 1, 1, 0, 512, 0, 32, None)],
        ),
        "CUPTI_ACTIVITY_KIND_RUNTIME": ("start end globalTid correlationId nameId", [(5, 9, (6 << 24) + 7, 5, 2)]),
        "CUPTI_ACTIVITY_KIND_MEMCPY": ("start end deviceId streamId correlationId globalPid bytes copyKind",
                                       [(30, 40, 0, 7, 6, 6 << 24, 4096, 1)]),
        "NVTX_EVENTS": ("start end eventType textId globalTid text", [(1, 50, 59, 3, (6 << 24) + 7, None)]),
        "TARGET_INFO_GPU": ("id name smCount totalMemory clockRate threadsPerWarp computeMajor computeMinor",
                            [(0, "NVIDIA H100", 132, 2**36, 1980000000, 32, 9, 0)]),
        "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs", [(1_700_000_000_000_000_000,)]),
    },
}  # fmt: skip


def seeds() -> dict[str, bytes]:
    """All of them, by name."""
    with tempfile.TemporaryDirectory() as folder:
        made = {name: _database(Path(folder) / name, tables) for name, tables in DATABASES.items()}
    return {
        **made,
        "perfetto": _perfetto(),
        "rptrace": rptrace.small(),
        "xplane": _xplane(),
        "torch_memory": pickle.dumps(train(steps=1).snapshot(), 4),
    }


def _xplane() -> bytes:
    """A GPU with one kernel, the call that launches it, and the program that it is of."""
    instruction = xplane.content(1, "dot.1") + xplane.content(2, "dot")
    program = xplane.content(1, xplane.content(3, xplane.content(2, instruction)))
    told: dict[str, xplane.Value] = {
        "correlation_id": 5,
        "hlo_op": "dot.1",
        "hlo_module": "jit_f",
        "program_id": 3,
    }
    kernel = xplane.Event(NAME, 9_000, 7_000, {**told, "kernel_details": "grid:2,1,1 block:64,1,1"})
    call = xplane.Event("hipLaunchKernel", 1_000, 2_000, told)
    return xplane.space(
        xplane.Plane("/host:metadata", shared={"jit_f(3)": {"Hlo Proto": program}}),
        xplane.Plane("/device:GPU:0", [xplane.Line("Stream #1", 1, [kernel])], {"device_vendor": "AMD"}),
        xplane.Plane("/host:CPU", [xplane.Line("python", 2, [call, xplane.Event("$a.py:1 f", 0, 9_000)])]),
        xplane.Plane("Task Environment", stats={"profile_start_time": BIG}),
    )


def _database(file: Path, tables: Tables) -> bytes:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA page_size = 512")
        for name, (columns, rows) in tables.items():
            quoted = ", ".join(f'"{column.strip(chr(34))}"' for column in columns.split())
            connection.execute(f'CREATE TABLE "{name}" ({quoted})')
            marks = ", ".join("?" for _ in columns.split())
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
        connection.commit()
    return file.read_bytes()


def _perfetto() -> bytes:
    """A process, a thread, one API call and one kernel."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    trace = pb.Trace()
    for uuid, name in ((1, "main"), (2, "COMPUTE AGENT [4] QUEUE [1]")):
        descriptor = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
        descriptor.uuid, descriptor.name = uuid, name
        descriptor.process.pid = 6
    for track, category, name in ((1, "hip_api", "hipLaunchKernel"), (2, "kernel_dispatch", NAME)):
        for kind, time in ((pb.TrackEvent.TYPE_SLICE_BEGIN, BIG), (pb.TrackEvent.TYPE_SLICE_END, BIG + 9)):
            packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=time)
            packet.track_event.type, packet.track_event.track_uuid = kind, track
            if kind == pb.TrackEvent.TYPE_SLICE_BEGIN:
                packet.track_event.categories.append(category)
                packet.track_event.name = name
                for key, value in (
                    ("corr_id", 5),
                    ("begin_ns", BIG),
                    ("end_ns", BIG + 9),
                    ("kind", 11),
                    ("agent", 4),
                ):
                    note = packet.track_event.debug_annotations.add(name=key)
                    note.uint_value = value
    return bytes(trace.SerializeToString())
