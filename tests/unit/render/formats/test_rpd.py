"""What is written as RPD: the shape is that of rocmProfileData, and the adapter reads back what went in."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from rocm_perf.errors import UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import rpd
from rocm_perf.sim.workload import Workload, parse_workload
from tests.properties import examples
from tests.sim.recorded import recorded
from tests.sim.strategies import workloads

_HOST = ("pid", "tid", "start_ns", "end_ns")
_CAUSED = (*_HOST, "correlation_id", "agent_id", "queue_id")
# What the call says of its one kernel or copy; null where it caused several.
_OF_LAUNCH = (
    "stream_id",
    *(f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz"),
    "vgprs",
    "sgprs",
)
_OF_COPY = ("stream_id", "size_bytes")

# What the format carries. The rest of a table, and every other table, it has no place for.
CARRIED: dict[str, tuple[str, ...]] = {
    "dispatches": ("kernel", *_CAUSED, *_OF_LAUNCH),
    "api_calls": ("domain", "name", *_HOST, "correlation_id"),
    "copies": ("kind", *_CAUSED, *_OF_COPY),
    "ranges": ("name", "source", *_HOST),
    "ops": ("name", "category", "sequence", *_HOST),
    "samples": ("time_ns", "metric", "value"),
}

WORKLOAD = """
[kernel.gemm]
duration_us = 20
[kernel.softmax]
duration_us = 5
[graph.decode]
steps = [{launch = "gemm"}, {launch = "softmax"}]
[[thread]]
steps = [
    {push = "step 1"}, {cpu = "aten::addmm", us = 2}, {copy = "H2D", bytes = 100000},
    {repeat = 3, steps = [{launch = "gemm"}, {launch = "softmax", stream = "side"}]},
    {graph = "decode"}, {sync = "device"}, {pop = "range"}, {copy = "D2H", bytes = 4, blocking = true},
]
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return recorded(parse_workload(WORKLOAD))


def _query(file: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


def _carried(trace: Trace, table: str) -> pl.DataFrame:
    """As the file can say it: rows in one order, names without the mark of a kernel's descriptor, and nothing that a
    call could only have said of one kernel or copy."""
    frame = trace.table(table).select(CARRIED[table])
    said = {"dispatches": _OF_LAUNCH, "copies": _OF_COPY}.get(table, ())
    alone = pl.col("correlation_id").is_unique()
    frame = frame.with_columns(pl.when(alone).then(pl.col(name)).alias(name) for name in said)
    if table == "dispatches":
        frame = frame.with_columns(pl.col("kernel").str.strip_suffix(".kd"))
    return frame.sort(pl.all())


def _same(written: Trace, read: Trace) -> None:
    for table in CARRIED:
        assert _carried(read, table).equals(_carried(written, table)), table


@examples(times=0.3)
@given(workloads())
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, workload: Workload) -> None:
    trace = recorded(workload)
    file = tmp_path_factory.mktemp("rpd") / "trace.rpd"
    rpd.write(trace, file)
    read = load(file)
    _same(trace, read)
    assert not read.run.losses
    assert _query(file, "PRAGMA foreign_key_check") == []
    if len(workload.ranks) == 1:
        ours, theirs = (
            one.table("dispatches").sort("start_ns", "dispatch_id")["dispatch_id"] for one in (trace, read)
        )
        assert ours.equals(theirs)


def _shape(file: Path) -> dict[str, list[str]]:
    names = _query(file, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return {name: [row[1] for row in _query(file, f'PRAGMA table_info("{name}")')] for (name,) in names}


def test_the_tables_and_views_are_those_of_the_real_tool(
    trace: Trace, tmp_path: Path, specimens: Path
) -> None:
    rpd.write(trace, tmp_path / "ours.rpd")
    assert _shape(tmp_path / "ours.rpd") == _shape(
        specimens / "rpd" / "ROCm_rocmProfileData__matmul_result.rpd"
    )


def test_a_real_recording_comes_back(tmp_path: Path, specimens: Path) -> None:
    real = load(specimens / "rpd" / "ROCm_rocmProfileData__matmul_result.rpd")
    rpd.write(real, tmp_path / "ours.rpd")
    _same(real, load(tmp_path / "ours.rpd"))


def test_views_answer_what_users_ask(trace: Trace, tmp_path: Path) -> None:
    file = tmp_path / "trace.rpd"
    rpd.write(trace, file)
    length = (pl.col("end_ns") - pl.col("start_ns")).sum() // 1000
    spent = trace.table("dispatches").group_by("kernel").agg(pl.len(), length).sort("kernel")
    kernels = "SELECT Name, TotalCalls, TotalDuration FROM top WHERE Name NOT LIKE 'Copy%' ORDER BY Name"
    assert _query(file, kernels) == spent.rows()
    assert _query(file, "SELECT apiName, args FROM api WHERE apiName = 'UserMarker'") == [
        ("UserMarker", "step 1")
    ]
    assert _query(file, "SELECT opType, COUNT(*) FROM op GROUP BY opType ORDER BY opType") == [
        ("CopyDeviceToHost", 1),
        ("CopyHostToDevice", 1),
        ("KernelExecution", 8),
    ]
    launched = "SELECT stream, gridX, workgroupX, COUNT(*) FROM kernel GROUP BY stream ORDER BY stream"
    assert _query(file, launched) == [("0x0", 4, 256, 3), ("0x1", 4, 256, 3)]
    assert _query(file, "SELECT apiName, size, kind FROM copyop ORDER BY size") == [
        ("hipMemcpy", 4, 2),
        ("hipMemcpyAsync", 100000, 1),
    ]
    assert _query(file, "SELECT COUNT(*) FROM ktop") == [(2,)]
    assert 0 < _query(file, "SELECT Busy FROM busy")[0][0] <= 2
    assert _query(file, "SELECT DISTINCT deviceType, deviceId FROM rocpd_monitor") == [("gpu", 0)]


def test_the_same_trace_gives_the_same_bytes(trace: Trace, tmp_path: Path) -> None:
    rpd.write(trace, tmp_path / "one.rpd")
    rpd.write(recorded(parse_workload(WORKLOAD)), tmp_path / "two.rpd")
    assert (tmp_path / "one.rpd").read_bytes() == (tmp_path / "two.rpd").read_bytes()
    with pytest.raises(UsageError):
        rpd.write(trace, tmp_path / "one.rpd")
