"""What every place in the model adds up to, with everything inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from rocm_perf.analysis.modules.places import Places
from rocm_perf.analysis.operators.passes import PASSES, Passes

_SPENT = ("time_ns", "host_ns", "dispatches")
_USE = ("kernel_ns", "matrix_ns", "unknown_ns", "occupied_ns", "weighted")
Sums = Mapping[str, Sequence[float]]


def subtree_totals(spent: pl.DataFrame, use: pl.DataFrame, where: Places) -> Sums:
    """For each place by name: `forward time_ns`, `backward dispatches`, ... of each pass, and the use of the GPU by its
    kernels. `spent`: what attributed() gives, with time_ns."""
    columns = _of_passes(spent, PASSES, _SPENT, where) | _at_places(use, _USE, where)
    return {name: _with_inside(values, where.parents) for name, values in columns.items()}


def call_totals(spans: pl.DataFrame, passes: Passes, where: Places) -> Sums:
    """For each place `forward calls`, `forward host_ns`, and the same of the recomputed pass: of its calls alone."""
    calls = spans.select("host_ns", place=where.of_module, kind=passes.kind, calls=pl.lit(1, pl.Int64))
    return _of_passes(calls.drop_nulls("place"), ("forward", "recomputed"), ("calls", "host_ns"), where)


def _of_passes(
    table: pl.DataFrame, passes: Sequence[str], columns: Sequence[str], where: Places
) -> dict[str, list[float]]:
    """The sums of each pass, under names such as `forward calls`."""
    return {
        f"{kind} {column}": values
        for kind in passes
        for column, values in _at_places(table.filter(pl.col("kind") == kind), columns, where).items()
    }


def _at_places(table: pl.DataFrame, columns: Sequence[str], where: Places) -> dict[str, list[float]]:
    sums = table.drop_nulls("place").group_by("place").agg(pl.col(columns).sum())
    values: dict[str, list[float]] = {column: [0] * len(where.names) for column in columns}
    for place, *row in sums.iter_rows():
        for column, value in zip(columns, row, strict=True):
            values[column][place] = value
    return values


def _with_inside(values: list[float], parents: Sequence[int | None]) -> list[float]:
    """Each value with those of everything inside; what is inside a place stands behind it."""
    for place in range(len(values) - 1, -1, -1):
        parent = parents[place]
        if parent is not None:
            values[parent] += values[place]
    return values
