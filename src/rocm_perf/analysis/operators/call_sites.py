"""Operators seen from the program: by nn.Module and by the Python function that called them, forward and backward."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.forest import is_outermost, subtree_sums
from rocm_perf.analysis.basis.module_spans import bare_names, is_module
from rocm_perf.analysis.operators.tree import OperatorTree
from rocm_perf.model.results.operators import Place

NO_MODULES = "no nn.Module was recorded (torch.profiler: with_stack=True)"
NO_STACKS = "no Python frame was recorded (torch.profiler: with_stack=True)"

_LONGEST = ["gpu_ns", "host_ns", "name"]


def modules(tree: OperatorTree, backward: pl.Series | None) -> tuple[Place, ...]:
    """Every nn.Module, with all that ran inside it; a module inside another shares its time with it. `backward`: GPU
    time of the backward pass at the row of its forward operator, where passes are linked."""
    spans = tree.spans
    wanted = is_module(spans)
    if not wanted.any():
        return ()
    backward_ns = subtree_sums(spans["behind"], _or_none(tree, backward))
    table = spans.with_columns(backward_ns.alias("backward_ns")).filter(wanted)
    table = table.with_columns(bare_names(table["name"]), is_outermost("name").alias("outermost"))
    outermost = pl.col("outermost")
    return _places(
        table.group_by("name").agg(
            pl.len().alias("calls"),
            pl.col("host_ns").filter(outermost).sum(),
            pl.col("gpu_total_ns").filter(outermost).sum().alias("gpu_ns"),
            pl.col("backward_ns").filter(outermost).sum(),
            pl.col("dispatches_below").filter(outermost).sum().alias("dispatches"),
        ),
        linked=backward is not None,
    )


def call_sites(tree: OperatorTree, backward: pl.Series | None) -> tuple[Place, ...]:
    """Python functions outside torch, each with the operators that it called first-hand: no time counts twice."""
    table = tree.operators.with_columns(
        _or_none(tree, backward).gather(tree.operators["row"]).alias("backward_ns"),
        pl.col("operator").is_null().alias("is_call"),
    ).drop_nulls("site")
    return _places(
        table.group_by(pl.col("site").alias("name")).agg(
            pl.col("is_call").sum().alias("calls"),
            pl.col("host_self_ns").sum().alias("host_ns"),
            pl.col("gpu_self_ns").sum().alias("gpu_ns"),
            pl.col("backward_ns").sum(),
            pl.col("dispatches").sum(),
        ),
        linked=backward is not None,
    )


def _or_none(tree: OperatorTree, backward: pl.Series | None) -> pl.Series:
    return pl.zeros(tree.spans.height, pl.Int64, eager=True) if backward is None else backward


def _places(table: pl.DataFrame, *, linked: bool) -> tuple[Place, ...]:
    ordered = table.sort(_LONGEST, descending=[True, True, False])
    return tuple(
        Place(
            name=row["name"],
            calls=row["calls"],
            host_ns=row["host_ns"],
            gpu_ns=row["gpu_ns"],
            backward_gpu_ns=row["backward_ns"] if linked else None,
            dispatches=row["dispatches"],
        )
        for row in ordered.iter_rows(named=True)
    )
