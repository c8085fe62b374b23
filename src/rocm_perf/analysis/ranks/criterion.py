"""Which ranks come later than chance would have it. Among equal ranks somebody is last each time: that names nobody."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rocm_perf.statistics.order import chance_of_lasts, chance_of_places

FORMULAS = {
    "ranks.stragglers": "ranks that come later than equals would: in the fewest collectives that hold 80 % of what is "
    "lost (at least 5), the sum of a rank's places of arrival (Friedman's ranks), or how often it is the last, has a "
    "chance of at most 1 in 1,000 over all ranks; what they cost is at least 3 % of the time, and each delays the "
    "others by at least half of what the worst of its cause does (nine tenths for a slow link)",
}
FEWEST = 5  # collectives
MOST_CHANCE = 0.001
_HOLD = 0.8  # of what is lost
_TESTS = (
    2  # one for ranks that are always late, one for those that are late now and then but the last by then
)


def costly(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the fewest meetings that hold most of what is lost (delayed_ns)."""
    lost = rows.group_by("meeting").agg(pl.col("delayed_ns").sum()).filter(pl.col("delayed_ns") > 0)
    lost = lost.sort("delayed_ns", "meeting", descending=[True, False])
    before = pl.col("delayed_ns").cum_sum() - pl.col("delayed_ns")
    return rows.join(lost.filter(before < _HOLD * pl.col("delayed_ns").sum()), on="meeting", how="semi")


def chances(rows: pl.DataFrame) -> pl.DataFrame:
    """For each rank the chance that one of so many equals has places like its own (who, chance), likeliest
    straggler first. Rows are who, place and ranks of the meetings that count."""
    many = rows["who"].n_unique()
    last = (pl.col("place") == pl.col("ranks")).sum().alias("last")
    table = rows.group_by("who", maintain_order=True).agg(pl.col("place").sum(), last, "ranks")
    values = [
        min(_TESTS * many * _chance(places, last, sizes), 1.0) if len(sizes) >= FEWEST else 1.0
        for places, last, sizes in table.select("place", "last", "ranks").iter_rows()
    ]
    return table.select("who", pl.Series("chance", values, dtype=pl.Float64)).sort("chance")


def _chance(places: float, last: int, sizes: Sequence[int]) -> float:
    return min(chance_of_places(places, sizes), chance_of_lasts(last, sizes))
