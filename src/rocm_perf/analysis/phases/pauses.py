"""Pauses: long idle times of all GPUs that do not recur, such as compiling, loading a library, reading input once."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import holes
from rocm_perf.analysis.time.sequence import FEWEST_STEPS

_LONG = 0.02  # of the time from the first to the last work
_ALIKE = 0.5  # idle times at least half as long are its like; with as many of them as steps need, it recurs


def pauses(work: pl.DataFrame) -> pl.DataFrame:
    """The work that ends a pause, with since_ns, when the pause began. `work` is that of one clock."""
    idle = holes(work, ()).with_columns(length=pl.col("start_ns") - pl.col("since_ns"))
    span = int(work["end_ns"].max() or 0) - int(work["start_ns"].min() or 0)  # type: ignore[arg-type]
    ordered = idle["length"].sort()
    alike = idle.height - pl.Series(
        ordered.search_sorted((idle["length"] * _ALIKE).cast(pl.Int64), "left"), dtype=pl.Int64
    )
    return idle.filter((pl.col("length") > _LONG * span) & (alike <= FEWEST_STEPS))
