"""Small jobs of several ranks, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, kernel, trace

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def reduced(starts: Sequence[Sequence[int]], transfer: int = 10, **more: object) -> Trace:
    """All-reduces that end so much after the last rank has come; one row of starts for each, -1 where a rank is not
    recorded."""
    spans = [
        (rank, start, max(turn) + transfer, len(turn))
        for turn in starts
        for rank, start in enumerate(turn)
        if start >= 0
    ]
    rows: list[Row] = [
        {
            "name": "allreduce",
            "group": "0",
            "group_size": size,
            **_where(rank),
            "start_ns": start,
            "end_ns": end,
            **more,
        }
        for rank, start, end, size in spans
    ]
    kernels = [kernel(REDUCE, start, end, **_where(rank)) for rank, start, end, _ in spans]
    return trace(collectives=rows, dispatches=kernels)


def _where(rank: int) -> dict[str, object]:
    return {"rank": rank, "agent_id": rank}


ALWAYS_LAST = [(at, at + 20, at + 50) for at in range(0, 1500, 100)]
