"""GPU time by the ranges, Python functions and operators that were open on the host when the work was launched."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.nested import THREAD, enclosing, nest, with_launch
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches, timed_pass
from rocm_perf.analysis.program.range_paths import names_of, number_paths
from rocm_perf.model.results.stacks import GpuStack
from rocm_perf.model.trace import Trace

_SPAN = [*THREAD, "name", "start_ns", "end_ns"]
_WORK = ["node", "pass_id", "rank", "pid", "correlation_id", "start_ns", "end_ns"]


def gpu_stacks(trace: Trace) -> tuple[GpuStack, ...]:
    """The stacks of all kernels and copies with times, the longest first. Work whose launch is not recorded, or lies in
    nothing recorded, has its own name alone."""
    work = with_launch(trace, _work(trace))
    spans = nest(_host_spans(trace))
    paths, of_span = number_paths(spans)
    launched_at = work.select(
        *THREAD[:-1], pl.col("launch_tid").alias("tid"), pl.col("launch_ns").alias("time_ns")
    )
    path = of_span.gather(enclosing(spans, launched_at))
    totals = (
        work.select("name", path.alias("path"), (pl.col("end_ns") - pl.col("start_ns")).alias("gpu_ns"))
        .group_by("path", "name", maintain_order=True)
        .agg(pl.col("gpu_ns").sum())
        .sort("gpu_ns", descending=True, maintain_order=True)
    )
    return tuple(
        GpuStack((*(() if path is None else names_of(paths, path)), name), gpu_ns)
        for path, name, gpu_ns in totals.iter_rows()
    )


def _host_spans(trace: Trace) -> pl.DataFrame:
    """Ranges, Python functions and operators of the timed pass."""
    of_pass = pl.col("pass_id") == timed_pass(trace)
    ranges = trace.table("ranges").filter(of_pass & ~pl.col("on_gpu"))
    return pl.concat([ranges.select(_SPAN), trace.table("ops").filter(of_pass).select(_SPAN)])


def _work(trace: Trace) -> pl.DataFrame:
    kernels = timed_dispatches(trace).select(pl.col("kernel").alias("name"), *_WORK)
    copies = timed_copies(trace).select(("copy " + pl.col("kind")).alias("name"), *_WORK)
    return pl.concat([kernels, copies])
