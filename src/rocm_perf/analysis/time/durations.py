"""How the durations of a kernel's dispatches run and spread, thinned to what a picture in a table can show."""

from __future__ import annotations

import numpy as np
import polars as pl

from rocm_perf.model.results.times import Durations

POINTS = 32  # at most, of each of both
_Lengths = np.ndarray[tuple[int], np.dtype[np.float64]]


def durations(dispatches: pl.DataFrame) -> dict[str, Durations]:
    """By kernel. Takes kernel, start_ns and duration."""
    in_order = pl.col("duration").sort_by("start_ns").cast(pl.Float64)
    table = dispatches.group_by("kernel").agg(in_order)
    return {
        kernel: Durations(course_ns=_course(lengths), counts=_counts(lengths))
        for kernel, lengths in zip(
            table["kernel"], (row.to_numpy() for row in table["duration"]), strict=True
        )
    }


def _course(lengths: _Lengths) -> tuple[float, ...]:
    """The mean of each part; parts follow one another and are equal but for one dispatch."""
    parts = np.array_split(lengths, min(POINTS, len(lengths)))
    return tuple(round(float(part.mean()), 1) for part in parts)


def _counts(lengths: _Lengths) -> tuple[int, ...]:
    """How many lie in each bucket from the shortest to the longest, where equal factors are equal buckets; one bucket
    where all are the same."""
    logs = np.log(np.maximum(lengths, 1.0))
    low, high = float(logs.min()), float(logs.max())
    if low == high:
        return (len(lengths),)
    counts, _ = np.histogram(logs, bins=POINTS, range=(low, high))
    return tuple(int(count) for count in counts)
