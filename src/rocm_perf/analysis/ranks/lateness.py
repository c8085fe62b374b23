"""Why a rank comes late: what it did since its last collective with the same ranks, compared with what they did."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.ranks.arrivals import arrivals
from rocm_perf.analysis.ranks.parts import PARTS, spent
from rocm_perf.model.trace import Trace

FORMULAS = {
    "ranks.stragglers.cause": "what a rank did from its last collective with the same ranks to its arrival at the "
    "next, less the median of these ranks, by part: kernels (compute), copies, waiting in collectives with other ranks "
    "(then the rank that came last there is the cause), GPU idle while the host fetches data (data loader), GPU idle "
    "otherwise (host), transfers with other ranks and by how much later than these it left the last one (slow link); "
    "the part with most of it",
}
EARLIER = "earlier collective"
_LEAVING = "leaving"  # the last collective later than the others did
_CAUSES = {
    "computing": "compute",
    "copying": "copies",
    "waiting": EARLIER,
    "communicating": "slow link",
    "loading": "data loader",
    "idle": "host",
    _LEAVING: "slow link",
}
_HOPS = 3  # from a rank that was held up to the one that held it up, and so on


@once_per_trace
def delays(trace: Trace) -> pl.DataFrame:
    """What each rank delays the others by, for each cause: who, cause, delayed_ns. What a collective with other ranks
    caused is told of the rank that was late there."""
    shared = _excess(trace).unpivot(
        list(_CAUSES), index=["who", "delayed_ns"], variable_name="part", value_name="share"
    )
    caused = shared.select(
        "who",
        cause=pl.col("part").replace_strict(_CAUSES, return_dtype=pl.String),
        delayed_ns=pl.col("delayed_ns") * pl.col("share"),
    )
    table = _summed(caused)
    for _ in range(_HOPS):
        table = _told_of_the_first(table, _held_up_by(trace))
    return table


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("who", "cause").agg(pl.col("delayed_ns").sum()).sort("delayed_ns", descending=True)


def _excess(trace: Trace) -> pl.DataFrame:
    """For each arrival after the first of the same ranks: who, delayed_ns, and the share of each part in the time that
    the rank took longer than is usual among them."""
    rows = arrivals(trace).filter(pl.col("delayed_ns").max().over("meeting") > 0)
    stretches = rows.select("who", start_ns="since_ns", end_ns="start_ns")
    parts = pl.concat([rows, spent(trace, stretches)], how="horizontal")
    uncertain = pl.col("error_ns").fill_null(0)
    more = parts.with_columns(
        *(_beyond_usual(pl.col(part)).alias(part) for part in PARTS),
        (_beyond_usual(pl.col("since_ns")) - uncertain).clip(lower_bound=0).alias(_LEAVING),
    )
    whole = pl.sum_horizontal(*_CAUSES)
    return more.filter(whole > 0).select("who", "delayed_ns", *(pl.col(part) / whole for part in _CAUSES))


def _beyond_usual(value: pl.Expr) -> pl.Expr:
    """By how much it is more than the median of the meeting; of two ranks the smaller one is usual."""
    return (value - value.quantile(0.5, "lower").over("meeting")).clip(lower_bound=0)


@once_per_trace
def _held_up_by(trace: Trace) -> pl.DataFrame:
    """For each rank the one that it waits for most: who, first."""
    rows = arrivals(trace)
    last = rows.filter(pl.col("waited_ns") == 0).unique("meeting", keep="last").select("meeting", first="who")
    waits = rows.join(last, on="meeting").filter(pl.col("who") != pl.col("first"))
    totals = waits.group_by("who", "first").agg(pl.col("waited_ns").sum())
    return totals.sort("waited_ns", descending=True).unique("who", keep="first").select("who", "first")


def _told_of_the_first(table: pl.DataFrame, held_up_by: pl.DataFrame) -> pl.DataFrame:
    """The table with what earlier collectives caused told of the rank that was late there, with its own main cause."""
    main = table.filter(pl.col("cause") != EARLIER).unique("who", keep="first", maintain_order=True)
    moved = (
        table.filter(pl.col("cause") == EARLIER)
        .join(held_up_by, on="who", how="left")
        .join(main.select(first="who", own="cause"), on="first", how="left")
        .select(who=pl.coalesce("first", "who"), cause=pl.coalesce("own", "cause"), delayed_ns="delayed_ns")
    )
    return _summed(pl.concat([table.filter(pl.col("cause") != EARLIER), moved]))
