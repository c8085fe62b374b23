"""Divide the time in which a GPU works among kernels, collectives, copies and fills, each moment once."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import disjoint, overlap_ns
from rocm_perf.analysis.basis.keys import over, telling
from rocm_perf.analysis.basis.launched import GPU, launched_work
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.trace import Trace

# A moment belongs to the first of these that is active in it: what runs beside computation costs nothing.
LEVELS = ("kernel", "communication", "copy", "fill")
_FILL = "copy MEMSET"


@once_per_trace
def busy_time(trace: Trace) -> pl.DataFrame:
    """Return how long each kernel, collective, copy and fill had its GPU for itself: node, agent_id, level, name,
    alone_ns and count.

    Of several of one level that run at a time, the first to begin has the time.
    """
    work = _levelled(launched_work(trace))
    keys = telling(GPU, work)
    levels, above = [], work.clear()
    for level in LEVELS:
        own = work.filter(pl.col("level") == level)
        if own.height:
            levels.append(_alone(own, above, keys))
            above = disjoint(pl.concat([above, own]), GPU)
    if not levels:
        return work.select(*GPU, "level", "name", alone_ns="start_ns", count="end_ns").clear()
    return (
        pl.concat(levels)
        .group_by(*GPU, "level", "name")
        .agg(pl.col("alone_ns").sum(), pl.len().cast(pl.Int64).alias("count"))
    )


def _levelled(work: pl.DataFrame) -> pl.DataFrame:
    level = (
        pl.when(pl.col("name") == _FILL)
        .then(pl.lit("fill"))
        .when(pl.col("kind") == "copy")
        .then(pl.lit("copy"))
        .when(is_collective(work["name"]).fill_null(False))
        .then(pl.lit("communication"))
        .otherwise(pl.lit("kernel"))
    )
    timed = work.filter(pl.col("end_ns") >= pl.col("start_ns"))
    return timed.select(*GPU, pl.col("name").cast(pl.String), "start_ns", "end_ns", level=level)


def _alone(own: pl.DataFrame, above: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the work of one level with the time that neither earlier work of the level nor a level above has."""
    ordered = own.sort("start_ns", maintain_order=True)
    reach = over(pl.col("end_ns").cum_max().shift(1), keys)
    pieces = ordered.with_columns(start_ns=pl.max_horizontal("start_ns", reach)).with_columns(
        end_ns=pl.max_horizontal("start_ns", "end_ns")
    )
    alone = pieces["end_ns"] - pieces["start_ns"] - overlap_ns(pieces, above, GPU)
    return pieces.select(*GPU, "level", "name", alone_ns=alone)
