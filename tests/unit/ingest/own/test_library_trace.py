from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load
from rocm_perf.ingest.own.library_trace import read
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model.library_trace import COLUMNS

HEADER = ",".join(COLUMNS)
RCCL = "rccl,all_reduce,{calls},,,,,,float32,,,4096,0xbe,8,1,77,count 1024"


def _file(folder: Path, *rows: str) -> Path:
    path = folder / "library_trace.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_rows_are_read_and_collectives_are_one_each(tmp_path: Path) -> None:
    path = _file(tmp_path, RCCL.format(calls=3), 'rocblas,gemm_ex,2,8,9,10,,NT,f16_r,f32_r,5,,,,,,"a, b"')
    assert sniff(Source(path)).name == "rocm-perf-library-trace"
    part = read(Source(path))
    calls = (
        part.tables["library_calls"]
        .select("library", "calls", "m", "transposes", "rank", "parameters")
        .rows()
    )
    assert calls == [("rccl", 3, None, None, 1, "count 1024"), ("rocblas", 2, 8, "NT", None, "a, b")]
    assert (
        part.tables["collectives"].select("name", "size_bytes", "rank", "pid").rows()
        == [("all_reduce", 4096, 1, 77)] * 3
    )


def test_what_is_no_call_is_a_loss_or_empty(tmp_path: Path) -> None:
    part = read(Source(_file(tmp_path, RCCL.format(calls=1), RCCL.format(calls="many"))))
    assert [loss.records for loss in part.losses] == [1]
    for rows in ([], [RCCL.format(calls=0)], [RCCL.format(calls=-4)]):
        with pytest.raises(EmptyCaptureError):
            read(Source(_file(tmp_path, *rows)))


def test_a_count_beyond_reason_does_not_fill_the_memory(tmp_path: Path) -> None:
    part = read(Source(_file(tmp_path, RCCL.format(calls=10**17))))
    assert "collectives" not in part.tables
    assert part.tables["library_calls"]["calls"].to_list() == [10**17]
    assert "only their totals" in part.notices[0]


def test_collectives_with_times_come_first(tmp_path: Path) -> None:
    _file(tmp_path, RCCL.format(calls=5))
    kernel = {
        "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 1.0, "dur": 5.0,
        "args": {"device": 0, "stream": 7, "correlation": 1, "Collective name": "allreduce", "In msg nelems": 8,
                 "dtype": "Float", "Group size": 8},
    }  # fmt: skip
    (tmp_path / "trace.json").write_text(
        json.dumps(
            {"schemaVersion": 1, "deviceProperties": [], "baseTimeNanoseconds": 1, "traceEvents": [kernel]}
        )
    )
    trace = load(tmp_path)
    assert trace.table("collectives")["name"].to_list() == ["all_reduce"]
    assert trace.table("library_calls")["calls"].to_list() == [5]
