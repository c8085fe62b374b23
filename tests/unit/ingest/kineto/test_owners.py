"""Traces merged from several ranks: every event finds its process and rank."""

from __future__ import annotations

import json
from pathlib import Path

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto.trace import read


def _events(rank: int, host: int, device: int) -> list[dict[str, object]]:
    span = {"ph": "X", "ts": 10.0 + rank, "dur": 2.0}
    return [
        {"ph": "M", "name": "process_name", "pid": host, "tid": 0, "args": {"name": f"RANK {rank} - CPU"}},
        {"ph": "M", "name": "process_name", "pid": device, "tid": 0, "args": {"name": f"RANK {rank} - GPU"}},
        {**span, "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": host, "tid": 1, "args": {"correlation": 7}},
        {**span, "cat": "cpu_op", "name": "aten::mm", "pid": host, "tid": 1, "args": {"External id": 3}},
        {
            **span, "cat": "kernel", "name": "gemm", "pid": device, "tid": 2,
            "args": {"device": rank, "stream": 2, "correlation": 7},
        },
    ]  # fmt: skip


def test_host_events_have_their_rank_and_kernels_their_process(tmp_path: Path) -> None:
    events = _events(0, 100, 2) + _events(1, 1100, 1003)
    (tmp_path / "merged.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    tables = read(Source(tmp_path / "merged.json")).tables
    for name in ("dispatches", "api_calls", "ops"):
        assert tables[name].sort("rank").select("rank", "pid").rows() == [(0, 100), (1, 1100)], name
