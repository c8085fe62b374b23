"""How ranges and operators that fetch data are named, and where they are."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.launched import THREAD
from rocm_perf.analysis.basis.passes import timed_rows
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.trace import Trace

# What frameworks and programs call the fetching of a batch: torch's `enumerate(DataLoader)#...__next__`, TensorFlow's
# `IteratorGetNext`, and plain words for it.
LOADING = (
    r"(?i)data_?loader|__next__|next_data|iterator.*next|(load|fetch|get|next)\w*[ _](batch|data|input)(es|s)?\b"
    r"|(batch|data|input)[ _]?(load|fetch|pipeline|wait)"
)


@once_per_trace
def loading_spans(trace: Trace) -> pl.DataFrame:
    """When each thread was in such a range or operator."""
    tables = (
        timed_rows(trace, "ops").filter(pl.col("category") == "operator"),
        timed_rows(trace, "ranges").filter(~pl.col("on_gpu")),
    )
    columns = ["name", *THREAD, "start_ns", "end_ns"]
    spans = pl.concat(
        rows.select(columns).cast({"name": pl.String}).collect() for rows in tables
    )  # collected before any name is looked at: one filter would look at those of Python frames too
    return spans.filter(named(spans["name"], pl.col("name").str.contains(LOADING))).drop("name")
