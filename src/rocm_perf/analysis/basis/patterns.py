"""What a long sequence repeats: a loop of the program shows as the same links, over and over."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.results.path import Link, Pattern

_CANDIDATES = 8
_LONGEST_PERIOD = 1000


def repeated(links: pl.DataFrame) -> Pattern | None:
    """The shortest run of links whose repetition covers the most; None where nothing comes twice in a row."""
    kind, name = (pl.col(column).to_physical().cast(pl.Int64) for column in ("kind", "name"))
    codes = links.select(code=kind * (1 << 32) + name)
    stretches = [_stretch(codes, period) for period in _periods(codes)]
    best = max(stretches, key=lambda one: (one[1] * one[2], -one[2]), default=None)
    if best is None or best[1] < 2:
        return None
    start, repeats, period = best
    first = tuple(Link(*row) for row in links.slice(start, period).iter_rows())
    return Pattern(first, repeats, int(links["duration_ns"].slice(start, repeats * period).sum()))


def _periods(codes: pl.DataFrame) -> list[int]:
    """The most frequent distances between one link and the next like it."""
    places = codes.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64))
    distances = places.select(period=pl.col("place") - pl.col("place").shift(1).over("code")).drop_nulls()
    counted = distances.filter(pl.col("period") <= _LONGEST_PERIOD)["period"].value_counts(sort=True)
    nearest: list[int] = counted["period"].head(_CANDIDATES).to_list()
    total: set[int] = {
        sum(nearest[:count]) for count in range(1, len(nearest) + 1)
    }  # two like it in one loop
    return sorted({*nearest, *(period for period in total if period <= _LONGEST_PERIOD)})


def _stretch(codes: pl.DataFrame, period: int) -> tuple[int, int, int]:
    """Where the longest repetition with this period starts, how often it comes, and the period."""
    same = (codes["code"] == codes["code"].shift(period)).fill_null(False)
    runs = pl.DataFrame({"same": same}).with_row_index("place").with_columns(run=pl.col("same").rle_id())
    longest = runs.filter("same").group_by("run").agg(pl.col("place").min(), pl.len()).sort("len", "place")
    if not longest.height:
        return 0, 0, period
    place, length = longest.select("place", "len").row(-1)
    return int(place) - period, 1 + int(length) // period, period
