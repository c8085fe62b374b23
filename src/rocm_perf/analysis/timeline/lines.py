"""The line of each slice within its track: the first that is free, so that nothing covers another. What is nested lies
one line below what it is nested in."""

from __future__ import annotations

import polars as pl

DEEPEST = 255  # what is nested deeper is drawn there


def lines(slices: pl.DataFrame) -> pl.Series:
    """The line of each slice (track, start_ns, end_ns), which are in the order of track, start and falling end."""
    reach = pl.col("end_ns").cum_max().shift(1).over("track")
    overlaps = slices.select((pl.col("start_ns") < reach).fill_null(False)).to_series()
    crowded = slices["track"].is_in(slices["track"].filter(overlaps).unique().implode())
    spans = slices.filter(crowded).partition_by("track", maintain_order=True)
    depths = [_first_free(part["start_ns"].to_list(), part["end_ns"].to_list()) for part in spans]
    depth = pl.zeros(slices.height, pl.UInt8, eager=True)
    places = crowded.arg_true()
    each = pl.Series([line for part in depths for line in part], dtype=pl.Int64).clip(0, DEEPEST)
    return depth.scatter(places, each.cast(pl.UInt8)).alias("depth")


def _first_free(starts: list[int], ends: list[int]) -> list[int]:
    """For each slice the first line whose slices have all ended by its start."""
    until: list[int] = []  # when each line is free
    soonest: list[int] = []  # the first moment at which that line or one above it is free
    chosen = []
    for start, end in zip(starts, ends, strict=True):
        while until and until[-1] <= start:
            until.pop()
            soonest.pop()
        if not until or soonest[-1] > start:
            chosen.append(len(until))
            soonest.append(soonest[-1] if until and soonest[-1] < end else end)
            until.append(end)
        else:
            line = next(line for line, free in enumerate(until) if free <= start)
            chosen.append(line)
            until[line] = end
            for below in range(line, len(until)):
                soonest[below] = min(until[below], soonest[below - 1]) if below else until[below]
    return chosen
