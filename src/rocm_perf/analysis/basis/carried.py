"""Work that runs when a recording begins, and was launched before it: the tail of an earlier step."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.launched import GPU

_STREAM = (*GPU, "queue_id", "stream_id")
_STRAY = 0.05  # of the later work may lack its launch for other reasons


def carried_over(work: pl.DataFrame) -> pl.Series:
    """For each row of launched_work, whether it has no launch itself and came before everything on its stream whose
    launch is recorded: a stream runs in order, but one that copies ahead begins before another has ended its step.

    None does where launches are not recorded, or much of the later work lacks its own too.
    """
    launched = work["launch_end"].is_not_null()
    early = ~launched & (work["start_ns"] < _first_launched_ns(work)).fill_null(False)
    later = int((~early).sum())
    strays = later - int(launched.sum())
    return early & (strays <= _STRAY * later)


def _first_launched_ns(work: pl.DataFrame) -> pl.Series:
    """For each row, when the first work of its stream begins whose launch is recorded; of any stream where its own
    has none; null where no launch is recorded."""
    start_ns = pl.col("start_ns").filter(pl.col("launch_end").is_not_null()).min()
    return work.select(pl.coalesce(start_ns.over(_STREAM), start_ns)).to_series()
