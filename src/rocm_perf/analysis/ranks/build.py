"""The topic `ranks`: the ranks of one job on one clock, side by side."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.ranks.arrivals import CLASSES, arrivals, classified
from rocm_perf.analysis.ranks.over_time import heat_map, totals
from rocm_perf.analysis.ranks.parts import PARTS
from rocm_perf.analysis.ranks.repair import repaired
from rocm_perf.analysis.ranks.stragglers import Insight, stragglers
from rocm_perf.analysis.ranks.work import work
from rocm_perf.model.quantity import ratio, unavailable
from rocm_perf.model.results.ranks import CollectiveClasses, Ranks, RankTime
from rocm_perf.model.trace import Trace

FORMULAS = {"ranks.waited_share": "waiting_ns / time that is looked at, summed over the ranks"}
_NOTHING = "no collective that several recorded ranks took part in"


@once_per_trace
def ranks(trace: Trace) -> Ranks:
    """Who waits for whom in collectives, and why."""
    return compared(trace, Insight(work, repaired))


def compared(trace: Trace, insight: Insight) -> Ranks:
    """The same, with what else can be found out about late ranks."""
    met = arrivals(trace)
    formula = FORMULAS["ranks.waited_share"]
    if not met.height:
        share = unavailable("", formula, _NOTHING)
        return Ranks(
            rows=(),
            collectives=(),
            stragglers=(),
            map=None,
            waited_share=share,
            clock_error_ns=None,
            unavailable=_NOTHING,
        )
    rows = _rows(trace)
    whole = sum(sum(getattr(row, f"{part}_ns") for part in PARTS) for row in rows)
    waited = sum(row.waiting_ns for row in rows)
    return Ranks(
        rows=rows,
        collectives=_collectives(trace),
        stragglers=stragglers(trace, insight),
        map=heat_map(trace),
        waited_share=ratio(waited, whole, formula, "waiting_ns", "time_ns"),
        clock_error_ns=met["error_ns"].max(),  # type: ignore[arg-type]
    )


def _rows(trace: Trace) -> tuple[RankTime, ...]:
    met = arrivals(trace)
    last = pl.col("waited_ns") == 0
    entered = met.group_by("who").agg(
        pl.col("delayed_ns").sum().round().cast(pl.Int64),
        last_in=last.sum().cast(pl.Int64),
        collectives=pl.len().cast(pl.Int64),
    )
    table = totals(trace).join(entered, on="who", how="left", maintain_order="left").fill_null(0)
    table = table.sort("delayed_ns", descending=True, maintain_order=True)
    return tuple(
        RankTime(
            rank=row["who"],
            node=row["node"],
            delayed_ns=row["delayed_ns"],
            last_in=row["last_in"],
            collectives=row["collectives"],
            **{f"{part}_ns": row[part] for part in PARTS},
        )
        for row in table.iter_rows(named=True)
    )


def _collectives(trace: Trace) -> tuple[CollectiveClasses, ...]:
    counts = [
        (pl.col("class") == name).sum().cast(pl.Int64).alias(name.replace(" ", "_")) for name in CLASSES
    ]
    table = (
        classified(trace)
        .group_by("name", "group", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("ranks").max(),
            pl.col("waited_ns", "transfer_ns").sum().round().cast(pl.Int64),
            *counts,
        )
        .sort(pl.col("waited_ns") + pl.col("transfer_ns"), descending=True, maintain_order=True)
    )
    return tuple(CollectiveClasses(**row) for row in table.iter_rows(named=True))
