"""Nsight Systems SQLite export, from tables made here in the shape of its releases."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.nvidia import nsys
from rocm_perf.ingest.sniff import sniff

STARTED = 1_790_000_000_000_000_001
PROCESS = (1 << 56) | (100 << 24)
THREAD = PROCESS | 4
SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, clockRate INTEGER, smCount INTEGER, uuid TEXT,
  threadsPerWarp INTEGER, maxShmemPerSm INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER,
  contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, registersPerThread INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, source INTEGER, severity INTEGER, text TEXT);
CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);
"""
Rows = dict[str, list[tuple[object, ...]]]
ROWS: Rows = {
    "StringIds": [
        (1, "void gemm<float>(float*)"),
        (2, "gemm"),
        (3, "cudaLaunchKernel_v7000"),
        (4, "cuMemAlloc_v2"),
    ],
    "META_DATA_EXPORT": [("EXPORT_PRODUCT_VERSION", "2026.1.1")],
    "TARGET_INFO_SESSION_START_TIME": [(STARTED, "2026-09-21 00:00:00", "")],
    "TARGET_INFO_SYSTEM_ENV": [(0, "Hostname", "box"), (0, "OsVersion", "Ubuntu 24.04")],
    "TARGET_INFO_GPU": [(5, "NVIDIA H100", 85_000_000_000, 1_980_000_000, 132, "GPU-x", 32, 233_472, 9, 0)],
    "TARGET_INFO_CUDA_DEVICE": [(5, 0, 100)],
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        (20, 70, 0, 1, 7, 6, PROCESS, 1, 2, 4, 2, 1, 128, 1, 1, 16, 32, 8, 64, None),
        (80, 90, 0, 1, 7, 0, PROCESS, None, 99, 1, 1, 1, 32, 1, 1, None, None, None, None, 3),
    ],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [
        (15, 18, 0, 7, 5, PROCESS, 64, 1, None, None),
        (16, 19, 0, 7, 5, PROCESS, 64, 2, None, None),
        (17, 20, 0, 7, 5, PROCESS, 64, 10, 0, 1),
        (18, 21, 0, 7, 5, PROCESS, 64, 77, None, None),
    ],
    "CUPTI_ACTIVITY_KIND_MEMSET": [(18, 22, 0, 7, 4, PROCESS, 32)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [(10, 12, 0, THREAD, 6, 3), (5, 6, 1, THREAD, 3, 4)],
    "NVTX_EVENTS": [
        (1, 90, 59, "step", None, THREAD),
        (2, None, 34, None, 2, THREAD),
        (3, -1, 60, "open", None, THREAD),
        (0, None, 75, "a domain", None, THREAD),
    ],
    "DIAGNOSTIC_EVENT": [(1, 1, 1, "all is well"), (1, 1, 2, "12 events were lost")],
    "GPU_METRICS": [(30, 256 + 5, 3, 55)],
    "TARGET_INFO_GPU_METRICS": [(256 + 5, 3, "SM Active")],
}


def _export(folder: Path, rows: Rows = ROWS, schema: str = SCHEMA) -> Source:
    file = folder / "recording"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(schema)
        for table, values in rows.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(values[0]))})", values)
        connection.commit()
    return Source(file)


def test_it_is_recognised_by_its_tables(tmp_path: Path) -> None:
    assert sniff(_export(tmp_path)).name == "nsys-sqlite"


def test_kernels(tmp_path: Path) -> None:
    part = nsys.read(_export(tmp_path))
    first, second = part.tables["dispatches"].rows(named=True)
    assert (first["kernel"], first["start_ns"], first["end_ns"]) == (
        "void gemm<float>(float*)",
        STARTED + 20,
        STARTED + 70,
    )
    assert (first["grid_x"], first["grid_y"], first["workgroup_x"]) == (512, 2, 128)
    assert (first["lds_bytes"], first["scratch_bytes"], first["vgprs"]) == (48, 8, 64)
    assert (first["pid"], first["stream_id"], first["correlation_id"], first["dispatch_id"]) == (100, 7, 6, 1)
    assert (second["kernel"], second["graph_id"], second["lds_bytes"]) == ("(unnamed kernel)", 3, None)
    assert [(loss.what, loss.records) for loss in part.losses] == [
        ("kernels whose name is not in StringIds", 1)
    ]
    assert part.clock == "epoch"


def test_a_process_that_sees_one_gpu_of_many_is_put_on_the_right_one(tmp_path: Path) -> None:
    part = nsys.read(_export(tmp_path))
    assert set(part.tables["dispatches"]["agent_id"]) == {5}
    assert part.tables["agents"].select("agent_id", "gfx", "cu_count", "clock_mhz", "lds_bytes").rows() == [
        (5, "sm_90", 132, 1980.0, 233_472)
    ]


def test_copies_and_fills(tmp_path: Path) -> None:
    copies = nsys.read(_export(tmp_path)).tables["copies"]
    assert copies.select("kind", "size_bytes", "src_agent", "dst_agent").rows() == [
        ("H2D", 64, None, 5),
        ("D2H", 64, 5, None),
        ("P2P", 64, 5, 1),
        ("UNKNOWN", 64, None, None),
        ("MEMSET", 32, None, 5),
    ]


def test_calls_lose_the_version_of_their_signature_but_not_of_their_name(tmp_path: Path) -> None:
    calls = nsys.read(_export(tmp_path)).tables["api_calls"]
    assert calls.select("domain", "name", "pid", "tid", "correlation_id").rows() == [
        ("cuda", "cuMemAlloc_v2", 100, 4, 3),
        ("cuda", "cudaLaunchKernel", 100, 4, 6),
    ]


def test_ranges_marks_and_open_ranges(tmp_path: Path) -> None:
    ranges = nsys.read(_export(tmp_path)).tables["ranges"]
    assert ranges.select("name", "start_ns", "end_ns", "tid").rows() == [
        ("step", STARTED + 1, STARTED + 90, 4),
        ("gemm", STARTED + 2, STARTED + 2, 4),
        ("open", STARTED + 3, None, 4),
    ]


def test_gpu_metrics_host_and_warnings(tmp_path: Path) -> None:
    part = nsys.read(_export(tmp_path))
    assert part.tables["samples"].select("time_ns", "agent_id", "metric", "value").rows() == [
        (STARTED + 30, 5, "SM Active", 55.0)
    ]
    assert (part.host, part.os, part.tool_version) == ("box", "Ubuntu 24.04", "2026.1.1")
    assert part.notices == ("nsys: 12 events were lost",)


def test_whole_graphs_are_work_of_the_gpu(tmp_path: Path) -> None:
    graphs: Rows = {"StringIds": [(1, "x")], "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [(5, 9, 0, 7, 1, PROCESS, 2)]}
    part = nsys.read(_export(tmp_path, graphs))
    assert part.tables["dispatches"].select("kernel", "start_ns", "graph_id").rows() == [
        ("CUDA graph 2", 5, 2)
    ]
    assert "CUDA graph" in part.notices[0]
    assert part.clock == "relative"


def test_an_old_export_with_few_tables_and_columns(tmp_path: Path) -> None:
    schema = (
        "CREATE TABLE StringIds (id INTEGER,"
        " value TEXT); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER);"
    )
    part = nsys.read(
        _export(
            tmp_path,
            {"StringIds": [(1, "k")], "CUPTI_ACTIVITY_KIND_KERNEL": [(1, 2, 1), (3, None, 1)]},
            schema,
        )
    )
    assert part.tables["dispatches"].select("kernel", "start_ns", "end_ns", "grid_x").rows() == [
        ("k", 1, 2, None)
    ]
    assert [loss.records for loss in part.losses] == [1]


def test_hostile_times_do_not_overflow(tmp_path: Path) -> None:
    kernel = (2**63 - 1, 2**63 - 1, *ROWS["CUPTI_ACTIVITY_KIND_KERNEL"][0][2:])
    part = nsys.read(
        _export(
            tmp_path, {**ROWS, "CUPTI_ACTIVITY_KIND_KERNEL": [kernel, ROWS["CUPTI_ACTIVITY_KIND_KERNEL"][0]]}
        )
    )
    assert part.tables["dispatches"]["start_ns"].to_list() == [STARTED + 20]


def test_nothing_recorded_is_said(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        nsys.read(_export(tmp_path, {}))


def test_damage_gives_a_part_or_a_sentence(tmp_path: Path) -> None:
    whole = _export(tmp_path).path.read_bytes()
    chance = random.Random(7)
    file = tmp_path / "damaged"
    for _ in range(60):
        broken = bytearray(whole[: chance.randrange(100, len(whole) + 1)])
        for _ in range(chance.randrange(8)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        file.write_bytes(broken)
        with suppress(RocmPerfError):
            sniff(Source(file)).read(Source(file))
