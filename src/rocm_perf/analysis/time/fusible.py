"""Kernels that pass data on, one after the other: what one kernel instead of each unbroken run would save."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import as_one, ordered, telling
from rocm_perf.model.results.kernels import FamilyName

# Kernels that mostly pass data on.
FUSIBLE: tuple[FamilyName, ...] = ("elementwise", "normalisation", "copy", "softmax", "reduction")
BASIS = (
    "one kernel instead of each unbroken run of them on a stream and in a step, taking as long as the longest of the "
    "run: it still reads and writes its data once"
)
_STREAM = ("node", "pid", "agent_id", "queue_id", "stream_id")


def fused_saving_ns(dispatches: pl.DataFrame, fusible: pl.Expr, step_starts: pl.Series) -> int:
    """The time of all kernels of the runs but the longest of each. `fusible` says which dispatches pass data on; a run
    ends with its step: what the next one does, another kernel has to do."""
    length = pl.col("end_ns") - pl.col("start_ns")
    kernels = dispatches.select(*_STREAM, "start_ns", length.alias("length"), fusible.alias("fusible"))
    keys = telling(_STREAM, kernels)
    in_streams = ordered(kernels, [*keys, "start_ns"])
    in_streams = in_streams.with_columns(step=step_starts.search_sorted(in_streams["start_ns"], "right"))
    elsewhere = as_one((*keys, "step")).ne_missing(as_one((*keys, "step")).shift(1))
    begins = (elsewhere | ~pl.col("fusible") | ~pl.col("fusible").shift(1)).fill_null(True)
    runs = (
        in_streams.with_columns(begins.cum_sum().alias("run"))
        .filter("fusible")
        .group_by("run")
        .agg((pl.col("length").sum() - pl.col("length").max()).alias("saved"))
    )
    return int(runs["saved"].sum())
