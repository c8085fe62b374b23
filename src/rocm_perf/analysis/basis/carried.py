"""Work that runs when a recording begins, and was launched before it: the tail of an earlier step."""

from __future__ import annotations

import polars as pl

_STRAY = 0.05  # of the later work may lack its launch for other reasons


def carried_over(work: pl.DataFrame) -> pl.Series:
    """For each row of launched_work, whether it came before everything whose launch is recorded, and has none itself.

    None does where launches are not recorded, or much of the later work lacks its own too.
    """
    launched = work["launch_end"].is_not_null()
    first_ns = work.filter(launched)["start_ns"].min()
    if first_ns is None:
        return pl.repeat(False, work.height, dtype=pl.Boolean, eager=True)
    early = ~launched & (work["start_ns"] < first_ns)
    later = int((~early).sum())
    strays = later - int(launched.sum())
    return early & (strays <= _STRAY * later)
