"""When each rank came to a collective, how long it waited there, what that cost, and the class of the collective."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.ranks.members import members
from rocm_perf.model.results.ranks import Class
from rocm_perf.model.trace import Trace

FORMULAS = {
    "ranks.collectives.waited_ns": "last arrival - arrival, mean over the ranks of a collective",
    "ranks.collectives.transfer_ns": "end - last arrival, median over the ranks of a collective",
    "ranks.collectives.class": "arrival skew: waited_ns is at least two thirds of waited_ns + transfer_ns; transfer: "
    "at most one third; mixed: between; inconclusive: the error of the clocks may change the class, or ranks of the "
    "group are not recorded",
    "ranks.delayed_ns": "over the stretches between two arrivals that follow one another: stretch / ranks that have "
    "yet to come, for each of these; summed over the collectives but the first of the same ranks",
}
CLASSES: tuple[Class, ...] = ("transfer", "arrival skew", "mixed", "inconclusive")
_MOSTLY = 2 / 3


@once_per_trace
def arrivals(trace: Trace) -> pl.DataFrame:
    """The members of collectives with last_ns (the last arrival), waited_ns, delayed_ns (its part of what was lost),
    place (1 for the first to come), ranks (how many came), party (one number for the same ranks), complete (whether all
    ranks are recorded) and since_ns (when it left its last collective with the same ranks).

    Nothing is lost in the first collective of some ranks: they need not have begun together.
    """
    rows = members(trace).with_columns(
        last_ns=pl.col("start_ns").max().over("meeting"),
        ranks=pl.len().over("meeting").cast(pl.Int64),
    )
    expected = pl.coalesce("group_size", pl.col("ranks").max().over("domain", "group"))
    rows = rows.with_columns(party=pl.col("who").hash().sum().over("meeting")).with_columns(
        waited_ns=pl.col("last_ns") - pl.col("start_ns"),
        complete=pl.col("ranks") >= expected,
        place=pl.col("start_ns").rank("average").over("meeting"),
        since_ns=pl.col("end_ns").shift(1).over("who", "party"),
    )
    begun = pl.col("since_ns").is_not_null().all().over("meeting")
    return rows.with_columns(
        pl.min_horizontal("since_ns", "start_ns").alias("since_ns"),
        delayed_ns=pl.when(begun).then(_shared_delay()).otherwise(0.0),
    )


def _shared_delay() -> pl.Expr:
    """What each rank adds to the time of the last, of rows in the order of arrival: every stretch between two arrivals
    is shared by those that come after it (the airport problem of Littlechild and Owen)."""
    stretch = (pl.col("start_ns") - pl.col("start_ns").shift(1)).fill_null(0)
    yet_to_come = pl.len() - pl.int_range(pl.len())
    return (stretch / yet_to_come).cum_sum().over("meeting")


@once_per_trace
def classified(trace: Trace) -> pl.DataFrame:
    """One row for each collective of several ranks: meeting, party, name, group, size_bytes, ranks, complete,
    waited_ns, transfer_ns and class."""
    meetings = (
        arrivals(trace)
        .group_by("meeting", maintain_order=True)
        .agg(
            pl.col("party", "name", "group", "size_bytes", "ranks", "complete").first(),
            error_ns=pl.col("error_ns").max().fill_null(0),
            waited_ns=pl.col("waited_ns").mean(),
            transfer_ns=(pl.col("end_ns") - pl.col("last_ns")).median(),
        )
    )
    error = pl.col("error_ns")
    skewed, sent = pl.col("waited_ns"), pl.col("transfer_ns")
    at_least = _class(skewed - error, sent + error)
    at_most = _class(skewed + error, sent - error)
    sure = pl.col("complete") & (sent >= 0) & (at_least == at_most)
    return meetings.with_columns(
        pl.when(sure).then(_class(skewed, sent)).otherwise(pl.lit("inconclusive")).alias("class")
    )


def _class(waited: pl.Expr, transfer: pl.Expr) -> pl.Expr:
    waited, transfer = waited.clip(lower_bound=0), transfer.clip(lower_bound=0)
    whole = waited + transfer
    return (
        pl.when(transfer >= _MOSTLY * whole)
        .then(pl.lit("transfer"))
        .when(waited >= _MOSTLY * whole)
        .then(pl.lit("arrival skew"))
        .otherwise(pl.lit("mixed"))
    )
