"""Steps inside of a marked one: the kernels of the whole are one sequence, several times over. Layers are not: what
runs once before and behind them breaks the pattern."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import ordered
from rocm_perf.analysis.time.sequence import FEWEST_STEPS


def tiled_blocks(kernels: pl.DataFrame) -> pl.DataFrame | None:
    """The repeats of the shortest sequence that all kernels are made of: start_ns, end_ns, kernels and their time
    (length). None where there is none, where it is a single kernel, or where repeats overlap on the GPU."""
    in_order = ordered(kernels, ["launch_start", "start_ns"])
    period = _period(in_order["name"].cast(pl.Categorical).to_physical())
    if in_order["launch_start"].null_count() or period is None or period == 1:
        return None
    blocks = (
        in_order.with_columns(block=pl.int_range(pl.len()) // period)
        .group_by("block", maintain_order=True)
        .agg(
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            pl.len().cast(pl.Int64).alias("kernels"),
            (pl.col("end_ns") - pl.col("start_ns")).sum().alias("length"),
        )
    )
    following = blocks["start_ns"].shift(-1)
    if (blocks["end_ns"] > following).any():
        return None
    ends = pl.coalesce(following.alias("following"), "end_ns").alias("end_ns")
    return blocks.select("start_ns", ends, "kernels", "length")


def _period(names: pl.Series) -> int | None:
    """The shortest length of which the names are whole repeats, three or more."""
    count = len(names)
    lengths = (length for length in range(1, count // FEWEST_STEPS + 1) if count % length == 0)
    return next(
        (length for length in lengths if (names[length:] == names[: count - length]).all()),
        None,
    )
