"""rocprof results.db: the tables from which rocprof makes everything else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof import v1_db
from rocm_perf.ingest.sniff import sniff

BASE = 9007199254740993
API = (
    '"BeginNs" INTEGER, "EndNs" INTEGER, "pid" INTEGER, "tid" INTEGER, "Name" TEXT, "args" TEXT, '
    '"Index" INTEGER, "Data" TEXT'
)
OPS = (
    '"BeginNs" INTEGER, "EndNs" INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, '
    '"pid" INTEGER, "tid" INTEGER, "roctx-range" TEXT, "stream-id" INTEGER, "Index" INTEGER, "Data" TEXT'
)
KERN = (
    '"Index" INTEGER, "KernelName" TEXT, "gpu-id" INTEGER, "pid" INTEGER, "tid" INTEGER, "grd" INTEGER, "wgr" INTEGER, '
    '"arch_vgpr" INTEGER, "TCC_HIT[0]" INTEGER, "TCC_HIT[1]" INTEGER, "BeginNs" INTEGER, "EndNs" INTEGER, '
    '"DurationNs" INTEGER'
)
ROCTX = '"BeginNs" INTEGER, "EndNs" INTEGER, "pid" INTEGER, "tid" INTEGER, "Name" TEXT, "Index" INTEGER'

TRACER: dict[str, tuple[str, list[tuple[object, ...]]]] = {
    "HIP": (
        API,
        [
            (BASE, BASE + 5, 57, 58, "hipMemcpy", "( dst(0x1) sizeBytes(4096) kind(1))", 1, ""),
            (BASE + 10, BASE + 15, 57, 58, "hipLaunchKernel", "( kernel(gemm))", 2, ""),
        ],
    ),
    "HSA": (API, [(BASE + 1, BASE + 2, 57, 58, "hsa_signal_create", "(1) = 0", 2, "")]),
    "OPS": (
        OPS,
        [
            (BASE + 20, BASE + 29, 2, 1, "gemm(int) [clone .kd]", 57, 58, "", 3, 2, ""),
            (BASE + 30, BASE + 31, 2, 1, '"<barrier packet>"', 57, 58, "", 3, 4, ""),
        ],
    ),
    "COPY": (
        OPS,
        [
            (BASE + 2, BASE + 3, 2, 0, "CopyHostToDevice", 57, 58, "", 0, 1, ""),
            (BASE + 2, BASE + 3, 2, 0, "async-copy", 57, 58, "", None, 1, ""),
        ],
    ),
    "rocTX": (ROCTX, [(BASE, BASE + 50, 57, 58, "step", 0)]),
    "KERN": ('"Index" INTEGER, "KernelName" TEXT', []),
}
PROFILER: dict[str, tuple[str, list[tuple[object, ...]]]] = {
    "KERN": (
        KERN,
        [
            (0, '"fill [clone .kd]"', 8, 57, 58, 640, 64, 16, 3, 4, BASE, BASE + 7, 7),
            (1, '"add"', 8, 57, 58, 64, 64, None, 1, None, BASE + 9, BASE + 10, 1),
            (2, '"cut"', 8, 57, 58, 64, 64, 8, 1, 1, None, None, None),
        ],
    )
}


def _write(
    file: Path, tables: dict[str, tuple[str, list[tuple[object, ...]]]], script: Iterable[str] = ()
) -> Source:
    with closing(sqlite3.connect(file)) as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" * (columns.count(",") + 1))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        for statement in script:
            connection.execute(statement)
        connection.commit()
    return Source(file)


def _read(folder: Path, tables: dict[str, tuple[str, list[tuple[object, ...]]]]) -> Part:
    source = _write(folder / "anything.dat", tables)
    adapter = sniff(source)
    assert adapter.name == "rocprof-db"
    return adapter.read(source)


def test_tables_of_the_tracer(tmp_path: Path) -> None:
    part = _read(tmp_path, TRACER)
    assert (part.tool, part.losses, part.notices) == ("rocprof", (), ())
    assert part.tables["dispatches"].select(
        "kernel", "start_ns", "end_ns", "agent_id", "queue_id", "stream_id", "tid"
    ).rows() == [("gemm(int)", BASE + 20, BASE + 29, 2, 1, 3, 58)]
    assert part.tables["ranges"].select("name", "start_ns", "end_ns").rows() == [("step", BASE, BASE + 50)]


def test_numbers_join_calls_and_operations_but_not_across_apis(tmp_path: Path) -> None:
    tables = _read(tmp_path, TRACER).tables
    assert tables["api_calls"].select("domain", "name", "correlation_id").rows() == [
        ("hip", "hipMemcpy", 1),
        ("hip", "hipLaunchKernel", 2),
        ("hsa", "hsa_signal_create", None),
    ]
    assert tables["dispatches"]["correlation_id"].to_list() == [2]
    assert tables["copies"].select("kind", "size_bytes", "stream_id", "correlation_id").rows() == [
        ("H2D", 4096, 0, 1),
        ("UNKNOWN", None, None, None),
    ]


def test_hsa_numbers_count_where_there_is_no_hip(tmp_path: Path) -> None:
    tables = _read(tmp_path, {name: TRACER[name] for name in ("HSA", "COPY")}).tables
    assert tables["api_calls"]["correlation_id"].to_list() == [2]
    assert tables["copies"]["correlation_id"].to_list() == [1, 1]


def test_table_of_the_profiler(tmp_path: Path) -> None:
    part = _read(tmp_path, PROFILER)
    assert part.tables["dispatches"].select(
        "dispatch_id", "kernel", "start_ns", "grid_x", "vgprs"
    ).rows() == [
        (0, "fill", BASE, 640, 16),
        (1, "add", BASE + 9, 64, None),
    ]
    assert part.tables["counters"].select("dispatch_id", "counter", "value").rows() == [
        (0, "TCC_HIT", 7.0),
        (1, "TCC_HIT", 1.0),
    ]
    assert [loss.records for loss in part.losses] == [1]


def test_kernels_recorded_twice_count_once(tmp_path: Path) -> None:
    part = _read(tmp_path, {**TRACER, **PROFILER})
    assert part.tables["dispatches"]["kernel"].to_list() == ["fill", "add"]
    assert len(part.notices) == 1


def test_wrong_types_are_losses(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [
        ("soon", BASE, 1, 1, "hipA", "", 1, ""),
        (BASE, b"\x00\xff", 1, 1, "hipB", "", 2, ""),
        (1, 2, "x", None, "hipC", "", 3, ""),
    ]
    part = _read(tmp_path, {"HIP": (API, rows)})
    assert part.tables["api_calls"].select("name", "pid", "tid").rows() == [("hipC", None, None)]
    assert [loss.records for loss in part.losses] == [2]


def test_empty_tables_are_an_empty_capture(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(tmp_path, {"HIP": (API, []), "KERN": ('"Index" INTEGER, "KernelName" TEXT', [])})


def test_columns_that_try_to_break_out_are_left_alone(tmp_path: Path) -> None:
    hostile = '"Index" INTEGER, "KernelName" TEXT, "x"" FROM KERN; --" INTEGER'
    part = _read(tmp_path, {"KERN": (hostile, [(0, '"fill"', 5)])})
    assert set(part.tables) == {"dispatches"}


def test_other_databases_are_not_claimed(tmp_path: Path) -> None:
    source = _write(tmp_path / "x.db", {"rocpd_op": ("id INTEGER", []), "HIP": (API, [])})
    assert not v1_db.ADAPTERS[0].claims(Peek(source))


@pytest.mark.parametrize("kept", [20, 100, 4096, 5000])
def test_a_database_cut_off_is_refused(tmp_path: Path, kept: int) -> None:
    source = _write(tmp_path / "whole.db", TRACER)
    cut = tmp_path / "cut.db"
    cut.write_bytes(source.path.read_bytes()[:kept])
    adapter = v1_db.ADAPTERS[0]
    assert adapter.claims(Peek(Source(cut))) in (True, False)
    with pytest.raises(InputError):
        adapter.read(Source(cut))
