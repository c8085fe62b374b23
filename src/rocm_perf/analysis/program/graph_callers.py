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
    ranges = _ranges(trace)
    frame = _names_around(trace)[enclosing(nested_ops(trace), launches)].with_columns(
        range=ranges["name"].gather(enclosing(ranges, launches))
    )
    kind = pl.coalesce(pl.when(pl.col(name).is_not_null()).then(pl.lit(name)) for name in frame.columns)
    return frame.select(kind=kind, name=pl.coalesce(pl.all().cast(pl.String)))


@once_per_trace
def _names_around(trace: Trace) -> pl.DataFrame:
    """For each of the nested spans the names of the user's innermost function and of the innermost operator at it."""
    spans = nested_ops(trace)
    wanted = {"python": is_call_site(spans), "operator": spans["category"] == "operator"}
    return pl.DataFrame(
        {
            kind: spans["name"].gather(itself_or_around(spans["parent"], is_wanted))
            for kind, is_wanted in wanted.items()
        }
    )


@once_per_trace
def _ranges(trace: Trace) -> pl.DataFrame:
    """The ranges of the host, nested."""
    return nest(trace.table("ranges").filter(~pl.col("on_gpu")).select(_SPAN))
