"""A recording as formulas need it: for each pass, one row per dispatch with its counters, its duration and its place
among the dispatches of its kernel, which identifies it in another pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
import polars as pl

from rocm_perf.arch.metric_data import DURATION, written

KEY = ("node", "rank", "pid", "pass_id", "dispatch_id", "agent_id", "kernel")
# A pass is another run of the application: process ids differ, but not the machine, the rank and the GPU.
_KERNEL = ("node", "rank", "agent_id", "kernel")
_DISPATCH = ("node", "pid", "pass_id", "dispatch_id")
_NTH = "nth of its kernel"
_OF = "dispatches of its kernel"
_COUNTER = "counter "  # prefix of a counter's column: no counter's name can clash with another column

Columns = Mapping[str, pl.Expr]


class Pass(msgspec.Struct, frozen=True):
    """One run of the application."""

    number: int
    frame: pl.DataFrame
    counters: Mapping[str, pl.Expr]  # the column by the name that formulas write
    matchable: bool  # one process per node and rank: its dispatches can be identified in another pass

    @property
    def timed(self) -> bool:
        """Whether the pass recorded the time of at least one dispatch."""
        return self.frame[DURATION].null_count() < self.frame.height


def passes(counters: pl.DataFrame, dispatches: pl.DataFrame) -> tuple[Pass, ...]:
    """The passes of a recording, in order."""
    placed = _placed(dispatches)
    return tuple(
        _pass(
            number, placed.filter(pl.col("pass_id") == number), counters.filter(pl.col("pass_id") == number)
        )
        for number in placed["pass_id"].unique().sort()
    )


def joined(home: Pass, own: Columns, others: Iterable[tuple[Pass, Columns]]) -> pl.DataFrame:
    """The dispatches of one pass with columns of others; null where two passes list different numbers of dispatches
    of a kernel, because the n-th of one need not be the n-th of the other."""
    place = (*_KERNEL, _NTH, _OF)
    frame = home.frame.select(*KEY, _NTH, _OF, *_named(own))
    for other, columns in others:
        there = other.frame.select(*place, *_named(columns))
        frame = frame.join(there, on=place, how="left", nulls_equal=True, maintain_order="left")
    return frame.drop(_NTH, _OF)


def _named(columns: Columns) -> Iterable[pl.Expr]:
    return (column.alias(name) for name, column in columns.items())


def _placed(dispatches: pl.DataFrame) -> pl.DataFrame:
    known = dispatches.filter(pl.col("dispatch_id").is_not_null())
    known = known.unique(_DISPATCH, keep="first", maintain_order=True)
    duration = pl.when(pl.col("end_ns") > pl.col("start_ns")).then(pl.col("end_ns") - pl.col("start_ns"))
    kernel = ("pass_id", "pid", *_KERNEL)
    return (
        known.select(*KEY, duration.alias(DURATION))
        .sort("pass_id", "pid", "dispatch_id", maintain_order=True)
        .with_columns(pl.int_range(pl.len()).over(kernel).alias(_NTH), pl.len().over(kernel).alias(_OF))
    )


def _pass(number: int, dispatches: pl.DataFrame, counters: pl.DataFrame) -> Pass:
    recorded = counters["counter"].unique().sort().to_list()
    frame = dispatches.hstack(_by_dispatch(counters, dispatches, recorded)) if recorded else dispatches
    processes = frame.select("node", "rank", "pid").unique()
    matchable = processes.height == processes.select("node", "rank").unique().height
    return Pass(number=number, frame=frame, counters=_by_formula_name(recorded), matchable=matchable)


def _by_dispatch(counters: pl.DataFrame, dispatches: pl.DataFrame, recorded: list[str]) -> list[pl.Series]:
    """The values of each counter in the rows of `dispatches`, the first where one was recorded twice. Polars' own pivot
    plans each column by itself, which takes seconds for the 2,000 of Nsight Compute."""
    rows = dispatches.select(_DISPATCH).with_row_index("row")
    placed = counters.drop_nulls("value").join(
        rows, on=_DISPATCH, how="inner", nulls_equal=True, maintain_order="left"
    )
    numbers = pl.DataFrame({"counter": recorded}).with_row_index("column")
    columns = placed.select("counter").join(numbers, on="counter", maintain_order="left")["column"].to_numpy()
    values = np.full((len(recorded), dispatches.height), np.nan)
    values[columns[::-1], placed["row"].to_numpy()[::-1]] = placed["value"].to_numpy()[::-1]
    return [
        pl.Series(_COUNTER + name, own, nan_to_null=True) for name, own in zip(recorded, values, strict=True)
    ]


def formula_names(recorded: Iterable[str]) -> frozenset[str]:
    """Every name by which formulas may write counters that were recorded."""
    return frozenset(_by_formula_name(list(recorded)))


def _by_formula_name(recorded: list[str]) -> dict[str, pl.Expr]:
    """The column of each counter. Recorded values are already sums over instances, so X also serves as X_sum."""
    names = {written(name): pl.col(_COUNTER + name) for name in recorded}
    return {**{_other_name(name): column for name, column in names.items()}, **names}


def _other_name(name: str) -> str:
    return name.removesuffix("_sum") if name.endswith("_sum") else f"{name}_sum"
