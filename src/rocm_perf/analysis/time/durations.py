"""How the durations of a kernel's dispatches run and spread, thinned to what a picture in a table can show."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.model.results.times import Durations

POINTS = 32  # at most, of each of both
_DURATION = pl.col("duration")


def durations(dispatches: pl.DataFrame) -> dict[str, Durations]:
    """By kernel. Takes kernel, start_ns and duration."""
    courses, counts = _by_kernel(_course(dispatches)), _by_kernel(_counts(dispatches))
    return {
        kernel: Durations(course_ns=tuple(course.values()), counts=_filled(counts[kernel]))
        for kernel, course in courses.items()
    }


def _course(dispatches: pl.DataFrame) -> pl.DataFrame:
    """The mean of each part of a kernel's dispatches; parts follow one another and are equal but for one dispatch."""
    calls = pl.len().over("kernel")
    number = pl.int_range(pl.len()).over("kernel")
    part = number * pl.min_horizontal(calls, pl.lit(POINTS)) // calls
    ordered = dispatches.sort("start_ns").with_columns(place=part)
    return ordered.group_by("kernel", "place").agg(value=_DURATION.mean().round(1))


def _counts(dispatches: pl.DataFrame) -> pl.DataFrame:
    """How many dispatches lie in each bucket between the shortest and the longest; equal factors are equal buckets."""
    shortest = _DURATION.min().over("kernel").clip(1)
    range_ = (_DURATION.max().over("kernel") / shortest).log()
    part = pl.when(range_ > 0).then((_DURATION.clip(1) / shortest).log() / range_).otherwise(0.0)
    bucket = (part * POINTS).floor().cast(pl.Int64).clip(0, POINTS - 1)
    return dispatches.with_columns(place=bucket).group_by("kernel", "place").agg(value=pl.len())


def _by_kernel(table: pl.DataFrame) -> dict[str, dict[int, float]]:
    """The value at each place of each kernel, in order."""
    rows: dict[str, dict[int, float]] = {}
    for kernel, place, value in table.sort("kernel", "place").select("kernel", "place", "value").iter_rows():
        rows.setdefault(kernel, {})[place] = value
    return rows


def _filled(counts: Mapping[int, float]) -> tuple[int, ...]:
    """A count for every bucket; a single one where all durations are the same."""
    last = max(counts)
    return tuple(int(counts.get(place, 0)) for place in range(POINTS if last else 1))
