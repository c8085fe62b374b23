"""Amounts of work as means over the dispatches of which they are known, each with the time of those dispatches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from rocm_perf.analysis.roofline.amounts import Key, Work
from rocm_perf.analysis.roofline.points import Amount
from rocm_perf.analysis.roofline.times import MEDIAN, NO_TIMES, OTHER_PASS, Times
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.units import format_share

TIME = "time of a dispatch"
FEW = "known for {known:,} of {all:,} dispatches, {share} of its time"
_ENOUGH = 0.5  # of the time of a kernel: what is known of less may not hold for it
_KERNEL = ["gpu", "kernel"]
_KIND = [*_KERNEL, "ceiling"]


class Means(msgspec.Struct, frozen=True):
    """The amounts of one kernel, each over its own dispatches, and over those of which every amount is known."""

    amounts: Sequence[Amount] = ()
    whole: Sequence[Amount] = ()


def means(work: Work, clock: Times) -> dict[Key, Means]:
    """What a dispatch of each kernel does."""
    lengths = clock.timed.select("slot", "duration_ns")
    timed = work.amounts.join(lengths, on="slot", how="left", maintain_order="left")
    own, whole = (_amounts(rows, work, clock) for rows in (timed, _whole(timed)))
    return {key: Means(amounts, whole.get(key, ())) for key, amounts in own.items()}


def _whole(timed: pl.DataFrame) -> pl.DataFrame:
    """The rows of dispatches with all that is known of their kernel. What cannot be told apart counts as whole."""
    kinds = timed.group_by(_KIND).agg(pl.len(), pl.col("slot").null_count().alias("unmatched"))
    kernels = kinds.group_by(_KERNEL).agg(pl.len().alias("kinds"), pl.col("unmatched").sum())
    several = kernels.filter((pl.col("kinds") > 1) & (pl.col("unmatched") == 0)).drop("unmatched")
    rows = timed.join(several, on=_KERNEL)
    in_part = (
        rows.unique(["slot", "ceiling"])
        .group_by("slot")
        .agg(pl.len(), pl.col("kinds").first())
        .filter(pl.col("len") < pl.col("kinds"))
    )
    return timed.join(in_part, on="slot", how="anti") if in_part.height else timed


def _amounts(timed: pl.DataFrame, work: Work, clock: Times) -> dict[Key, list[Amount]]:
    length = pl.col("duration_ns")
    table = timed.group_by(_KIND, maintain_order=True).agg(
        pl.col("amount").mean(),
        length.mean().alias("mean"),
        length.sum().alias("spent"),
        length.is_null().any().alias("unmatched"),
        pl.len().alias("known"),
    )
    of_all = clock.by_kernel(
        pl.col("duration_ns").median().alias("median"),
        pl.col("duration_ns").sum().alias("total"),
        pl.len().alias("all"),
    )
    amounts: dict[Key, list[Amount]] = {}
    for row in table.join(of_all, on=_KERNEL, how="left", maintain_order="left").iter_rows(named=True):
        key = row["gpu"], row["kernel"]
        amounts.setdefault(key, []).append(_amount(row, work, clock))
    return amounts


def _amount(row: Mapping[str, Any], work: Work, clock: Times) -> Amount:
    known = work.known[(row["gpu"], row["kernel"]), row["ceiling"]]
    return Amount(
        ceiling=row["ceiling"],
        value=row["amount"],
        known=known,
        time_ns=_time(row, clock, counted_elsewhere=known.pass_id not in (None, clock.number)),
        dispatches=row["known"],
        few=_few(row),
    )


def _few(row: Mapping[str, Any]) -> str | None:
    """That most of the time of its kernel passes in dispatches of which it is not known."""
    if row["unmatched"] or row["spent"] >= _ENOUGH * row["total"]:
        return None
    return FEW.format(known=row["known"], all=row["all"], share=format_share(row["spent"] / row["total"]))


def _time(row: Mapping[str, Any], clock: Times, *, counted_elsewhere: bool) -> Quantity:
    """The mean time of the dispatches whose work is known; the kernel's median where those are unknown."""
    if row["all"] is None:
        return unavailable("ns", TIME, NO_TIMES)
    if row["unmatched"]:
        formula, inputs = MEDIAN.format(number=clock.number), {"dispatches": row["all"]}
        return Quantity(value=row["median"], unit="ns", formula=formula, inputs=inputs)
    basis = OTHER_PASS.format(number=clock.number) if counted_elsewhere else clock.basis
    inputs = {"dispatches": row["known"]}
    return Quantity(value=row["mean"], unit="ns", formula=f"mean of {basis}", inputs=inputs)
