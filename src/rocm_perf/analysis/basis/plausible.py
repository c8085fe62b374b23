"""Counters that stay 0 although something must have been counted: what they count is unknown, not nothing."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.trace import Trace

# What the L2 reads from memory: code and arguments at least, so a run with a large dispatch reads something.
_READS = r"^(FETCH_SIZE|(TCC|GL2C)_EA\d?_RDREQ(_sum)?)$"
_MUCH = 1 << 20  # work-items of a dispatch
_DISPATCH = ["node", "pid", "pass_id", "dispatch_id"]


@once_per_trace
def dead_counters(trace: Trace) -> pl.DataFrame:
    """Counters of reads that are 0 in every dispatch, a large one among them: how many dispatches have each, and which
    is the largest."""
    rows = trace.lazy("counters").filter(pl.col("counter").str.contains(_READS))
    zero = rows.filter((pl.col("value") == 0).all().over("counter"))
    items = pl.col("grid_x").cast(pl.Float64) * pl.col("grid_y") * pl.col("grid_z")
    sizes = trace.lazy("dispatches").select(*_DISPATCH, "kernel", items.alias("items"))
    sized = zero.join(sizes, on=_DISPATCH, nulls_equal=True).sort("items", nulls_last=True, descending=True)
    largest = sized.group_by("counter", maintain_order=True).agg(
        pl.len().alias("dispatches"), pl.col("kernel", "items").first()
    )
    return largest.filter(pl.col("items") >= _MUCH).sort("counter").collect()


@once_per_trace
def plausible_counters(trace: Trace) -> pl.DataFrame:
    """The counters without those that count nothing where there must have been something."""
    dead = dead_counters(trace)["counter"]
    counters = trace.table("counters")
    return counters.filter(~pl.col("counter").is_in(dead.implode())) if dead.len() else counters
