"""rocprof-compute's analysis database: dispatches, metrics, peaks and PC samples."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.rocprof_compute import database as rocprof_compute_db
from rocm_perf.ingest.sniff import sniff

TABLES = """
CREATE TABLE compute_workload (workload_id INTEGER, name VARCHAR, sys_info_extdata JSON, roofline_bench_extdata JSON);
CREATE TABLE compute_metadata (id INTEGER, compute_version VARCHAR);
CREATE TABLE compute_kernel (kernel_uuid INTEGER, workload_id INTEGER, kernel_name VARCHAR);
CREATE TABLE compute_dispatch (kernel_uuid INTEGER, dispatch_id INTEGER, gpu_id INTEGER,
  start_timestamp INTEGER, end_timestamp INTEGER);
CREATE TABLE compute_metric_definition (metric_uuid INTEGER, workload_id INTEGER, name VARCHAR,
  table_name VARCHAR, sub_table_name VARCHAR, unit VARCHAR);
CREATE TABLE compute_kernel_metric_value (metric_uuid INTEGER, kernel_uuid INTEGER, value_name VARCHAR, value FLOAT);
CREATE TABLE compute_workload_metric_value (metric_uuid INTEGER, workload_id INTEGER, value_name VARCHAR, value FLOAT);
CREATE TABLE compute_kernel_roofline_data (kernel_uuid INTEGER, total_flops FLOAT, hbm_cache_data FLOAT);
CREATE TABLE compute_pcsampling (kernel_uuid INTEGER, source VARCHAR, instruction VARCHAR, count INTEGER,
  "offset" INTEGER, count_issue INTEGER, count_stall INTEGER, stall_reason JSON);
"""
MACHINE = {
    "hostname": "box",
    "gpu_arch": "gfx950",
    "cu_per_gpu": 256,
    "simd_per_cu": 4,
    "command": "./app",
    "version": 3,
}
Rows = dict[str, list[tuple[object, ...]]]
ROWS: Rows = {
    "compute_workload": [
        (1, "w", json.dumps(MACHINE), json.dumps({"HBMBw": 4885.5, "I8Ops": 0, "odd": "x"}))
    ],
    "compute_metadata": [(1, "3.5.0")],
    "compute_kernel": [(7, 1, "gemm.kd")],
    "compute_dispatch": [(7, 0, 3, 9007199254740993, 9007199254740999), (99, 1, 3, 1, 2)],
    "compute_metric_definition": [
        (1, 1, "VALU FLOPs", "Speed", "Speed", "Gflop/s"),
        (2, 1, "Hits", "L2", "Channels", None),
    ],
    "compute_kernel_metric_value": [(1, 7, "Avg", 12.5), (1, 7, "Pct of Peak", 3.0), (1, 7, "Peak", None)],
    "compute_workload_metric_value": [(2, 1, "Std Dev", 0.5)],
    "compute_kernel_roofline_data": [(7, 2.0, None)],
    "compute_pcsampling": [
        (7, "a.hip:3", "v_add", 5, 64, 3, 2, '{"WAITCNT": 2, "odd": "x"}'),
        (7, None, "s_endpgm", 1, 68, 1, 0, "{broken"),
    ],
}


def _database(folder: Path, rows: dict[str, list[tuple[object, ...]]] = ROWS, tables: str = TABLES) -> Source:
    file = folder / "recording"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(tables)
        for table, values in rows.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(values[0]))})", values)
        connection.commit()
    return Source(file)


def _read(source: Source) -> Part:
    return rocprof_compute_db.read(source)


def test_it_is_recognised_by_its_tables(tmp_path: Path) -> None:
    source = _database(tmp_path)
    assert sniff(source).name == "rocprof-compute-db"


def test_dispatches_and_what_has_no_kernel(tmp_path: Path) -> None:
    part = _read(_database(tmp_path))
    row = part.tables["dispatches"].row(0, named=True)
    assert (row["kernel"], row["dispatch_id"], row["agent_id"]) == ("gemm", 0, 3)
    assert (row["start_ns"], row["end_ns"]) == (9007199254740993, 9007199254740999)
    assert [loss.records for loss in part.losses] == [1]


def test_metrics_of_kernels_and_of_the_workload(tmp_path: Path) -> None:
    part = _read(_database(tmp_path))
    assert part.tables["metrics"].select(
        "metric", "group", "kernel", "statistic", "value", "unit"
    ).rows() == [
        ("VALU FLOPs", "Speed", "gemm", "avg", 12.5, "Gflop/s"),
        ("VALU FLOPs", "Speed", "gemm", "pct_of_peak", 3.0, "Pct"),
        ("Hits", "L2 / Channels", None, "std_dev", 0.5, None),
        ("total_flops", "Roofline", "gemm", "value", 2.0, None),
        ("WAITCNT", "PC sampling stalls", "gemm", "samples", 2.0, None),
    ]


def test_machine_peaks_and_facts(tmp_path: Path) -> None:
    part = _read(_database(tmp_path))
    assert part.tables["agents"].select("agent_id", "gfx", "cu_count", "simd_count").rows() == [
        (3, "gfx950", 256, 1024)
    ]
    assert part.tables["ceilings"].select("agent_id", "ceiling", "value", "unit").rows() == [
        (3, "hbm", 4885.5, "GB/s")
    ]
    assert (part.host, part.command, part.tool_version) == ("box", "./app", "3.5.0")


def test_pc_samples_become_instructions(tmp_path: Path) -> None:
    part = _read(_database(tmp_path))
    assert part.tables["instructions"].select(
        "kernel", "pc", "text", "source", "samples_issued", "samples_stalled"
    ).rows() == [
        ("gemm", 64, "v_add", "a.hip:3", 3, 2),
        ("gemm", 68, "s_endpgm", None, 1, 0),
    ]


def test_workloads_are_told_apart(tmp_path: Path) -> None:
    second: Rows = {
        "compute_workload": [*ROWS["compute_workload"], (2, "other", None, None)],
        "compute_kernel": [(7, 1, "gemm"), (8, 2, "copy")],
        "compute_dispatch": [(7, 0, 3, 1, 2), (8, 0, 3, 5, 6)],
        "compute_metric_definition": [(1, 1, "m", "t", "t", None), (2, 2, "m", "t", "t", None)],
    }
    part = _read(_database(tmp_path, {**ROWS, **second}))
    assert part.tables["dispatches"].select("kernel", "pass_id").rows() == [("gemm", 0), ("copy", 1)]
    assert set(part.tables["metrics"].filter(pl.col("metric") == "m")["group"]) == {"w: t", "other: t"}


def test_nothing_recorded_is_said(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(_database(tmp_path, {}))


def test_missing_tables_are_no_error(tmp_path: Path) -> None:
    tables = "".join(statement + ";" for statement in TABLES.split(";")[:3])
    kept = {name: ROWS[name] for name in ("compute_workload", "compute_metadata", "compute_kernel")}
    source = _database(
        tmp_path, kept, tables + "CREATE TABLE compute_metric_definition (metric_uuid INTEGER);"
    )
    assert set(_read(source).tables) == {"agents", "ceilings"}


@pytest.mark.parametrize("keep", [120, 4000, 9000])
def test_a_database_cut_off_is_refused_with_a_sentence(tmp_path: Path, keep: int) -> None:
    whole = _database(tmp_path).path.read_bytes()
    file = tmp_path / "cut"
    file.write_bytes(whole[:keep])
    with pytest.raises(RocmPerfError):
        _read(Source(file))


def test_a_view_in_place_of_a_table_is_not_read(tmp_path: Path) -> None:
    tables = TABLES.replace(
        "CREATE TABLE compute_workload (workload_id INTEGER, name VARCHAR, sys_info_extdata JSON,"
        " roofline_bench_extdata JSON)",
        "CREATE VIEW compute_workload AS SELECT 1 AS workload_id",
    )
    source = _database(tmp_path, {}, tables)
    with pytest.raises(InputError, match="not a recording"):
        sniff(source)


def test_specimen(specimens: Path) -> None:
    part = _read(Source(specimens / "rocprof_compute_db" / "ROCm_roc-optiq__rocprof_compute_23ed6f36.db.gz"))
    heights = {name: table.height for name, table in part.tables.items()}
    # 43,115 values of kernels (one is infinite), 6,877 of the whole, four roofline numbers of each of 7 kernels + 1
    assert heights == {"dispatches": 10, "metrics": 43_114 + 6_877 + 32, "agents": 1, "ceilings": 18}
    first = part.tables["dispatches"].row(0, named=True)
    assert (first["start_ns"], first["end_ns"]) == (150244885871614, 150244886099176)
    flops = part.tables["metrics"].filter(
        (pl.col("metric") == "VALU FLOPs") & pl.col("kernel").is_null() & (pl.col("statistic") == "avg")
    )["value"]
    assert flops.unique().to_list() == [125.86050700118895]
    assert (part.tool_version, part.host) == ("3.5.0", "asrock-1w300-h2-1")
