"""What launched a graph: the call, and what was open around it."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.forest import itself_or_around
from rocm_perf.analysis.basis.nested import THREAD, enclosing, nest, nested_ops
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.operators.frames import is_call_site
from rocm_perf.analysis.program.replays import REPLAY
from rocm_perf.model.results.graphs import GraphCaller
from rocm_perf.model.trace import Trace

_MOST = 3  # callers of one graph
_SPAN = [*THREAD, "name", "start_ns", "end_ns"]


def callers(trace: Trace, kernels: pl.DataFrame) -> tuple[str | None, tuple[GraphCaller, ...]]:
    """The function that launches the replays of these kernels, and what called it most often."""
    launches = kernels.unique("replay").select(*REPLAY, "launch_ns", tid="launch_tid", time_ns="launch_ns")
    around = _around(trace, launches)
    counted = around.drop_nulls("name").group_by("kind", "name").agg(pl.len().alias("launches"))
    rows = counted.sort(["launches", "name"], descending=[True, False]).head(_MOST)
    return _call(trace, launches), tuple(GraphCaller(**row) for row in rows.iter_rows(named=True))


def _call(trace: Trace, launches: pl.DataFrame) -> str | None:
    ids = launches["correlation_id"].unique()
    calls = trace.table("api_calls").filter(pl.col("correlation_id").is_in(ids.implode()))
    names = calls.join(launches, on=REPLAY, how="semi", nulls_equal=True)["name"]
    return None if names.is_empty() else str(names.mode().sort()[0])


def _around(trace: Trace, launches: pl.DataFrame) -> pl.DataFrame:
    """For each launch the user's innermost function around it, else the innermost operator, else the innermost range:
    its kind and name."""
    spans = nested_ops(trace)
    inside = enclosing(spans, launches)
    sites = itself_or_around(spans["parent"], is_call_site(spans)).gather(inside)
    operators = itself_or_around(spans["parent"], spans["category"] == "operator").gather(inside)
    ranges = _ranges(trace)
    names = {
        "python": spans["name"].gather(sites),
        "operator": spans["name"].gather(operators),
        "range": ranges["name"].gather(enclosing(ranges, launches)),
    }
    frame = pl.DataFrame(names)
    kind = pl.coalesce(pl.when(pl.col(name).is_not_null()).then(pl.lit(name)) for name in names)
    return frame.select(kind=kind, name=pl.coalesce(*names))


@once_per_trace
def _ranges(trace: Trace) -> pl.DataFrame:
    """The ranges of the host, nested."""
    return nest(trace.table("ranges").filter(~pl.col("on_gpu")).select(_SPAN))
