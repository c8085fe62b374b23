"""When each step begins and ends, for everything that measures steps which the host marks."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

PROCESS = ("node", "pid")
OWN_WORK = (
    pl.col("start_ns").min().alias("gpu_start"),
    pl.col("start_ns").median().alias("gpu_middle"),
    pl.col("end_ns").max().alias("gpu_end"),
)  # of the work that belongs to a step


def lasting(
    steps: pl.DataFrame, work: pl.DataFrame, waits: pl.DataFrame, track: Sequence[str]
) -> pl.DataFrame:
    """The steps, with OWN_WORK, with begin_ns and done_ns, and is_first of their track.

    A step lasts from its own beginning, or from the end of the one before where that is later, until its range and its
    work are done. The first may have found the GPU at work, on what was launched before (of `work`) or is not in the
    recording (as `waits` show): it begins after that, as does a step whose host had finished before.
    """
    done = steps.with_columns(done_ns=pl.max_horizontal("end_ns", "gpu_end"))
    before = pl.col("done_ns").cum_max().shift(1).over(track, order_by="start_ns")
    placed = done.with_columns(before=before).with_row_index("place")
    first = placed.filter(pl.col("before").is_null())
    found = pl.concat([_left_over(first, work), _waited(first, waits)])
    joined = placed.join(
        found.group_by("place").agg(pl.col("end_ns").max().alias("found_ns")), on="place", how="left"
    ).sort("place")
    ran_ahead = pl.when(pl.col("before").is_null() & (pl.col("gpu_start") >= pl.col("end_ns"))).then(
        "gpu_start"
    )
    begin = pl.max_horizontal("start_ns", "before", "found_ns", ran_ahead)
    return joined.with_columns(
        begin_ns=pl.min_horizontal(begin, "done_ns"), is_first=pl.col("before").is_null()
    ).drop("place", "before", "found_ns")


def _left_over(first: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """The work launched before each first step that ended before the step's own began."""
    ends = work.select(*PROCESS, "launch_start", ended="end_ns")
    both = first.select("place", *PROCESS, "start_ns", "gpu_start").join(ends, on=PROCESS, nulls_equal=True)
    earlier = pl.col("launch_start").is_null() | (pl.col("launch_start") < pl.col("start_ns"))
    left = both.filter(earlier & (pl.col("ended") <= pl.col("gpu_start")))
    return left.select("place", end_ns="ended")


def _waited(first: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """The waits for unrecorded work that end in each first step, before half of its own work has begun."""
    ends = waits.select(*PROCESS, waited="end_ns")
    both = first.join(ends, on=PROCESS, nulls_equal=True)
    early = pl.col("waited").is_between("start_ns", pl.min_horizontal("done_ns", "gpu_middle"))
    return both.filter(early).select("place", end_ns="waited")
