"""Small Traces made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rocm_perf.model import schema
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
