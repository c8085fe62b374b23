"""Kernels that pass data on, one after the other: what one kernel instead of each unbroken run would save."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import as_one, ordered, telling
from rocm_perf.model.results.kernels import FamilyName

# Kernels that mostly pass data on.
FUSIBLE: tuple[FamilyName, ...] = ("elementwise", "normalisation", "copy", "softmax", "reduction")
BASIS = (
    "one kernel instead of each unbroken run of them on a stream, taking as long as the longest of the run: it still "
    "reads and writes its data once"
)
_STREAM = ("node", "pid", "agent_id", "queue_id", "stream_id")


def fused_saving_ns(dispatches: pl.DataFrame, fusible: pl.Expr) -> int:
    """The time of all kernels of the runs but the longest of each. `fusible` says which dispatches pass data on."""
    length = pl.col("end_ns") - pl.col("start_ns")
    kernels = dispatches.select(*_STREAM, "start_ns", length.alias("length"), fusible.alias("fusible"))
    keys = telling(_STREAM, kernels)
    in_streams = ordered(kernels, [*keys, "start_ns"])
    elsewhere = as_one(keys).ne_missing(as_one(keys).shift(1)) if keys else pl.lit(False)
    begins = (elsewhere | ~pl.col("fusible") | ~pl.col("fusible").shift(1)).fill_null(True)
    runs = (
        in_streams.with_columns(begins.cum_sum().alias("run"))
        .filter("fusible")
        .group_by("run")
        .agg((pl.col("length").sum() - pl.col("length").max()).alias("saved"))
    )
    return int(runs["saved"].sum())
