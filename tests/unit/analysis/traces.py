"""Small Traces made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from msgspec.structs import replace

from rocm_perf.model import schema
from rocm_perf.model.collection import CollectionRecord
from rocm_perf.model.run import Loss, RunInfo
from rocm_perf.model.trace import Trace

Row = Mapping[str, object]


def trace(losses: Sequence[Loss] = (), asked: Sequence[str] = (), **tables: Sequence[Row]) -> Trace:
    """A Trace of the given rows; columns that are not given are null or their default."""
    frames = {
        name: schema.conform(name, pl.DataFrame(list(rows), infer_schema_length=None))
        for name, rows in tables.items()
    }
    return Trace(frames, RunInfo(losses=tuple(losses), asked=tuple(asked)))


def with_launch_cost(recording: Trace, launch_ns: float, graph_kernel_ns: float | None = None) -> Trace:
    """The same, recorded by a profiler that adds so much to each launch, and to each kernel of a graph."""
    record = CollectionRecord(
        run_id="r",
        host="h",
        pid=1,
        command=("app",),
        folder="/",
        started_at="",
        profiler="cupti",
        launch_cost_ns=launch_ns,
        graph_kernel_cost_ns=graph_kernel_ns,
    )
    return recording.described(replace(recording.run, collection=record))


def kernel(name: str, start: int, end: int, **more: object) -> Row:
    return {"kernel": name, "start_ns": start, "end_ns": end, "agent_id": 0, "stream_id": 0, **more}


def call(
    name: str, start: int, end: int, correlation: int | None = None, domain: str = "hip", **more: object
) -> Row:
    return {
        "name": name,
        "domain": domain,
        "start_ns": start,
        "end_ns": end,
        "correlation_id": correlation,
        **more,
    }


def marked(name: str, start: int, end: int, **more: object) -> Row:
    """A range of the program."""
    return {"name": name, "source": "record_function", "start_ns": start, "end_ns": end, **more}
