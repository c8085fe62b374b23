"""What is written as rocpd: the shape is that of the real tool, and the adapter reads back what went in."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from rocm_perf.errors import UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import rocpd
from rocm_perf.sim.workload import Workload, parse_workload
from tests.properties import examples
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads

_HOST = ("node", "pid", "tid", "start_ns", "end_ns", "correlation_id")
_GPU = (*_HOST, "agent_id", "queue_id", "stream_id")
_AXES = tuple(f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz")
_RESOURCES = ("lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")

# What the format carries. The rest of a table, and every other table, it has no place for.
CARRIED: dict[str, tuple[str, ...]] = {
    "dispatches": ("dispatch_id", "kernel", *_GPU, *_AXES, *_RESOURCES),
    "api_calls": ("domain", "name", *_HOST),
    "copies": ("kind", "size_bytes", "src_agent", "dst_agent", *_GPU),
    "allocations": ("operation", "level", "address", "size_bytes", *_GPU),
    "scratch": ("operation", "size_bytes", "flags", *_GPU),
    "ranges": ("name", "on_gpu", *_HOST),
    "counters": ("node", "pid", "dispatch_id", "agent_id", "counter", "value"),
    "samples": schema.SCHEMAS["samples"].names,
    "agents": tuple(name for name in schema.SCHEMAS["agents"].names if name != "uuid"),
    "nodes": schema.SCHEMAS["nodes"].names,
    "processes": ("node", "pid", "ppid", "command", "start_ns", "end_ns"),
}

WORKLOAD = """
[kernel.gemm]
duration_us = 20
vgprs = 64
[kernel.softmax]
duration_us = 5
lds_bytes = 1024
[[thread]]
steps = [
    {push = "decode, layer 0"}, {alloc = "buffer", bytes = 4096}, {copy = "H2D", bytes = 100000},
    {repeat = 3, steps = [
        {launch = "gemm"}, {launch = "softmax", stream = "side"}, {copy = "D2H", bytes = 4, blocking = true}
    ]},
    {sync = "device"}, {pop = "range"}, {free = "buffer", bytes = 4096},
]
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return recorded(parse_workload(WORKLOAD))


def _query(file: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


def _carried(trace: Trace, table: str) -> pl.DataFrame:
    """As the file can say it: a kernel's name without the mark of its descriptor, rows in one order."""
    frame = trace.table(table).select(CARRIED[table])
    if table == "dispatches":
        frame = frame.with_columns(pl.col("kernel").str.strip_suffix(".kd"))
    return frame.sort(pl.all())


def _same(written: Trace, read: Trace) -> None:
    for table in CARRIED:
        assert _carried(read, table).equals(_carried(written, table)), table


def _shape(database: sqlite3.Connection) -> dict[str, list[str]]:
    """The columns of every table and view, under their names without the id of the process."""
    suffix = database.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()[0]
    names = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    return {
        name.replace(suffix, "{uuid}"): [row[1] for row in database.execute(f'PRAGMA table_info("{name}")')]
        for (name,) in names
    }


@examples(times=0.3)
@given(workloads())
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, workload: Workload) -> None:
    trace = recorded(workload)
    file = tmp_path_factory.mktemp("rocpd") / "results.db"
    rocpd.write(trace, file)
    read = load(file)
    _same(trace, read)
    assert not read.run.losses
    listed = ("kernel", *_RESOURCES)
    kernels = trace.table("kernels").with_columns(pl.col("kernel").str.strip_suffix(".kd")).select(listed)
    assert kernels.join(read.table("kernels"), on=listed, how="anti").is_empty()
    assert _query(file, "PRAGMA foreign_key_check") == []


def test_the_tables_and_views_are_those_of_the_real_tool(
    trace: Trace, tmp_path: Path, specimens: Path
) -> None:
    real = tmp_path / "real.db"
    real.write_bytes(gzip.decompress(next((specimens / "rocpd").glob("*.db.gz")).read_bytes()))
    rocpd.write(trace, tmp_path / "ours.db")
    with closing(sqlite3.connect(real)) as theirs, closing(sqlite3.connect(tmp_path / "ours.db")) as ours:
        expected = _shape(theirs)
        assert _shape(ours) == expected
        assert len(expected) > 60


def test_a_real_recording_comes_back(tmp_path: Path, specimens: Path) -> None:
    real = load(next((specimens / "rocpd").glob("*.db.gz")))
    rocpd.write(real, tmp_path / "ours.db")
    read = load(tmp_path / "ours.db")
    _same(real, read)
    assert read.table("kernels").equals(real.table("kernels"))


def test_views_answer_what_users_ask(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    rocpd.write(trace, file)
    length = pl.col("end_ns") - pl.col("start_ns")
    spent = trace.table("dispatches").group_by("kernel").agg(pl.len(), length.sum() / 1000).sort("kernel")
    assert (
        _query(file, "SELECT name, total_calls, total_duration FROM top_kernels ORDER BY name")
        == spent.rows()
    )
    assert _query(file, "SELECT name FROM top_kernels") == [("gemm",), ("softmax",)]
    assert _query(file, "SELECT SUM(percentage) FROM top_kernels")[0][0] == pytest.approx(100)
    assert _query(file, "SELECT DISTINCT category FROM regions ORDER BY 1") == [
        ("HIP_RUNTIME_API_EXT",),
        ("MARKER_CORE_RANGE_API",),
    ]
    launches = "SELECT COUNT(*) FROM kernels k JOIN regions r USING (guid, stack_id) WHERE r.name = 'hipLaunchKernel'"
    assert _query(file, launches) == [(6,)]
    copies = "SELECT name, src_agent_type, dst_agent_type, SUM(size) FROM memory_copies GROUP BY name ORDER BY name"
    assert _query(file, copies) == [
        ("MEMORY_COPY_DEVICE_TO_HOST", "GPU", "CPU", 12),
        ("MEMORY_COPY_HOST_TO_DEVICE", "CPU", "GPU", 100000),
    ]
    assert _query(file, "SELECT type, size FROM memory_allocations") == [("ALLOC", 4096), ("FREE", 4096)]
    assert _query(file, "SELECT stream FROM kernels WHERE name = 'softmax' LIMIT 1") == [("Stream 0",)]
    calls = trace.rows("api_calls") + trace.rows("ranges")
    assert _query(file, "SELECT SUM(total_calls) FROM top") == [(calls + 6 + trace.rows("copies"),)]
    assert _query(file, "SELECT COUNT(*) FROM samples") == [(trace.rows("samples"),)]
    assert _query(file, "SELECT hostname, pid, command FROM processes") == [("sim-node", 4000, "workload")]


def test_counters_scratch_and_unknowns(tmp_path: Path) -> None:
    span = {"start_ns": 10, "end_ns": 20, "pid": 7, "tid": 8, "agent_id": 4, "queue_id": 1, "stream_id": 0}
    sized = dict.fromkeys(_AXES, 1)
    tables: dict[str, list[dict[str, object]]] = {
        "dispatches": [
            {"dispatch_id": 1, "kernel": "k", "vgprs": 8, "correlation_id": 5, **span, **sized},
            {"dispatch_id": 2, "kernel": "k", "vgprs": 16, **span, **sized},  # the same name, compiled twice
            {"dispatch_id": 3, "kernel": "untimed", "pid": 7, "queue_id": 0, "stream_id": 0, **sized},
        ],
        "counters": [
            {"pid": 7, "dispatch_id": number, "agent_id": 4, "counter": name, "value": value}
            for number, name, value in ((1, "SQ_WAVES", 3.5), (2, "SQ_WAVES", 2.0**60), (1, "GRBM_COUNT", 0.0))
        ],
        "scratch": [{"operation": "ALLOC", "size_bytes": 64, "flags": "USE_ONCE", **span}],
        "allocations": [{"operation": "FREE", "level": "VIRTUAL", "address": 2**64 - 1, "size_bytes": 0, **span}],
        "api_calls": [
            {"domain": domain, "name": "call", "start_ns": 1, "end_ns": 1, "pid": 7}
            for domain in ("hip", "hip_compiler", "hsa", "rccl", "rocdecode", "rocjpeg", "kfd", "cuda", "other")
        ],
        "copies": [
            {"kind": kind, "size_bytes": 1, "src_agent": 4, "dst_agent": 4, **span}
            for kind in ("H2D", "D2H", "D2D", "H2H", "P2P", "MEMSET", "UNKNOWN")
        ],
        "counter_info": [
            {"agent_id": 4, "counter": "SQ_WAVES", "block": "SQ", "description": "waves", "derived": False}
        ],
        "nodes": [{"node": 0, "host": "here", "os": "Linux 6.14.0", "clock": "boot"}],
        "agents": [{"agent_id": 4, "kind": "GPU", "gfx": "gfx942", "name": "MI300X", "clock_mhz": 2100.0}],
        "processes": [{"pid": 7, "command": None}],
    }  # fmt: skip
    trace = Trace(
        {
            name: schema.conform(
                name, pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_overrides(name))
            )
            for name, rows in tables.items()
        }
    )
    file = tmp_path / "results.db"
    rocpd.write(trace, file)
    read = load(file)
    _same(trace, read)
    info = read.table("counter_info").filter(counter="SQ_WAVES").row(0, named=True)
    assert (info["gfx"], info["block"], info["description"], info["derived"]) == (
        "gfx942",
        "SQ",
        "waves",
        False,
    )
    counted = "SELECT dispatch_id, counter_name, value, kernel_name FROM counters_collection ORDER BY 1, 2"
    assert _query(file, counted) == [
        (1, "GRBM_COUNT", 0, "k"),
        (1, "SQ_WAVES", 3.5, "k"),
        (2, "SQ_WAVES", 2**60, "k"),
    ]
    assert _query(file, "SELECT operation, alloc_flags FROM scratch_memory") == [("ALLOC", "USE_ONCE")]
    assert _query(file, "SELECT COUNT(*) FROM pmc_events") == [(3,)]


def _overrides(table: str) -> dict[str, type[pl.DataType]]:
    return {"address": pl.UInt64} if table == "allocations" else {}


def test_processes_have_tables_of_their_own(tmp_path: Path) -> None:
    steps = 'steps = [{launch = "gemm"}, {collective = "all_reduce", bytes = 100}, {sync = "device"}]'
    text = "[kernel.gemm]\nduration_us = 20\n" + "".join(
        f"[[thread]]\nrank = {rank}\n{steps}\n" for rank in (0, 1)
    )
    trace = recorded(parse_workload(text))
    file = tmp_path / "results.db"
    rocpd.write(trace, file)
    tables = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_kernel_dispatch_%'"
    assert _query(file, tables) == [(2,)]
    assert _query(file, "SELECT pid, COUNT(*) FROM kernels GROUP BY pid") == [(4000, 2), (4001, 2)]
    _same(trace, load(file))


def test_the_same_trace_gives_the_same_bytes(trace: Trace, tmp_path: Path) -> None:
    rocpd.write(trace, tmp_path / "one.db")
    rocpd.write(recorded(parse_workload(WORKLOAD)), tmp_path / "two.db")
    assert (tmp_path / "one.db").read_bytes() == (tmp_path / "two.db").read_bytes()


def test_an_existing_file_is_kept_unless_told_otherwise(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    file.write_text("mine")
    with pytest.raises(UsageError):
        rocpd.write(trace, file)
    assert file.read_text() == "mine"
    rocpd.write(trace, file, overwrite=True)
    assert load(file).rows("dispatches") == 6
    assert list(tmp_path.iterdir()) == [file]
