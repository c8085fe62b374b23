"""Where the GPU time goes, kernel by kernel."""

from __future__ import annotations

from typing import Literal

import polars as pl

from rocm_perf.analysis.basis.names import short_name, short_names
from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.time.durations import durations
from rocm_perf.model.results.times import Hotspot, Hotspots
from rocm_perf.model.trace import Trace

Grouping = Literal["full", "short"]
_DRAWN = 100  # kernels whose durations are kept for pictures

FORMULAS = {
    "hotspots.total_ns": "sum of (end_ns - start_ns) over the dispatches of the kernel",
    "hotspots.durations.course_ns": "mean of end_ns - start_ns over each of at most 32 consecutive equal parts of the "
    "kernel's dispatches, in the order of their starts",
    "hotspots.durations.counts": "dispatches in at most 32 buckets of equal ratio from min_ns to max_ns",
    "hotspots.share": "total_ns of the kernel / sum of total_ns over all kernels",
}


@once_per_trace
def hotspots(trace: Trace, grouping: Grouping = "full") -> Hotspots:
    """Every kernel, longest total first; from the profiler's own statistics if no dispatch was kept."""
    dispatches = timed_by_kernel(trace)
    if dispatches.height:
        return _from_dispatches(dispatches, grouping)
    summaries = trace.table("summaries").filter(pl.col("domain") == "kernel")
    if summaries.height:
        return _from_summaries(summaries)
    return Hotspots(rows=(), basis="none", kernels=0, dispatches=0, total_ns=0, unavailable=_why_none(trace))


def _from_dispatches(dispatches: pl.DataFrame, grouping: Grouping) -> Hotspots:
    frame = dispatches.select("kernel", "start_ns", duration=pl.col("end_ns") - pl.col("start_ns"))
    if grouping == "short":
        frame = frame.with_columns(short_names(frame["kernel"].cast(pl.String)))
    duration = pl.col("duration")
    table = (
        frame.group_by("kernel")
        .agg(
            pl.len().alias("calls"),
            duration.sum().alias("total"),
            duration.mean().alias("mean"),
            duration.median().alias("median"),
            duration.min().alias("min"),
            duration.max().alias("max"),
        )
        .sort(["total", "kernel"], descending=[True, False])
    )
    total = int(table["total"].sum())
    drawn = durations(frame.join(table.head(_DRAWN).select("kernel"), on="kernel", how="semi"))
    rows = tuple(
        Hotspot(
            kernel=kernel,
            short_name=short_name(kernel),
            calls=calls,
            total_ns=span,
            mean_ns=mean,
            median_ns=median,
            min_ns=low,
            max_ns=high,
            share=span / total if total else 0.0,
            durations=drawn.get(kernel),
        )
        for kernel, calls, span, mean, median, low, high in table.iter_rows()
    )
    return Hotspots(
        rows=rows, basis="dispatches", kernels=len(rows), dispatches=dispatches.height, total_ns=total
    )


def _from_summaries(summaries: pl.DataFrame) -> Hotspots:
    total = float(summaries["total_ns"].sum())
    rows = tuple(
        Hotspot(
            kernel=row["name"],
            short_name=short_name(row["name"]),
            calls=row["calls"] or 0,
            total_ns=round(row["total_ns"] or 0),
            mean_ns=row["mean_ns"] or 0.0,
            median_ns=None,
            min_ns=None if row["min_ns"] is None else round(row["min_ns"]),
            max_ns=None if row["max_ns"] is None else round(row["max_ns"]),
            share=(row["total_ns"] or 0.0) / total if total else 0.0,
        )
        for row in summaries.sort("total_ns", descending=True).iter_rows(named=True)
    )
    calls = int(summaries["calls"].sum())
    return Hotspots(
        rows=rows,
        basis="the profiler's own statistics (no single dispatch was kept)",
        kernels=len(rows),
        dispatches=calls,
        total_ns=round(total),
    )


def _why_none(trace: Trace) -> str:
    if trace.has("dispatches"):
        return "the recording lists kernels without times"
    return "the recording holds no kernels"
