"""Kernels that CUPTI's range profiler measured for torch.profiler: counters in place of a timeline."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from rocm_perf.ingest.io.json import EventArray
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto.columns import timed
from rocm_perf.ingest.kineto.header import Header


class _ProfilerRange(msgspec.Struct):
    """A kernel measured by CUPTI's range profiler: its arguments are metrics."""

    cat: str = ""
    name: str = ""
    ts: float | None = None
    dur: float | None = None
    pid: Any = None
    args: dict[str, Any] = {}


def profiler_ranges(source: Source, header: Header) -> dict[str, pl.DataFrame]:
    """The tables that range profiler kernels fill."""
    array = EventArray(source, "traceEvents", msgspec.json.Decoder(list[_ProfilerRange]).decode)
    ranges = [event for piece in array for event in piece if event.cat == "cuda_profiler_range"]
    agent = [event.pid if isinstance(event.pid, int) else None for event in ranges]
    dispatches = pl.DataFrame(
        {
            "dispatch_id": range(1, len(ranges) + 1),
            "kernel": [event.name for event in ranges],
            "agent_id": pl.Series(agent, dtype=pl.Int64),
            "start_ns": pl.Series([event.ts for event in ranges], dtype=pl.Float64),
            "dur": pl.Series([event.dur for event in ranges], dtype=pl.Float64),
        }
    )
    rows = [
        (number, agent[number - 1], metric, float(value))
        for number, event in enumerate(ranges, start=1)
        for metric, value in event.args.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    counters = pl.DataFrame(rows, schema=["dispatch_id", "agent_id", "counter", "value"], orient="row")
    return {"dispatches": timed(dispatches, header.base_ns or 0), "counters": counters}
