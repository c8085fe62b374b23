"""What every place in the model spent: operators and GPU work by place, pass and operator."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.modules.places import Places
from rocm_perf.analysis.operators.passes import Passes
from rocm_perf.analysis.operators.tree import OperatorTree

_KEY = ["place", "kind", "operator"]


def attributed(tree: OperatorTree, passes: Passes, places: Places) -> pl.DataFrame:
    """One row for each place (null: outside of all modules), kind of pass and operator: calls, host_ns, gpu_ns and
    dispatches. All GPU work and all operators are in it, once."""
    spans = pl.DataFrame([places.of_span, passes.kind.alias("kind")])
    operators = tree.operators.select(
        *spans[tree.operators["row"]],
        operator="name",
        calls=pl.lit(1),
        host_ns="host_self_ns",
    )
    tables = [operators, _launched(tree.kernels, tree, spans, dispatches=1)]
    tables.append(_launched(tree.copies, tree, spans, dispatches=0))
    sums = pl.col("calls", "host_ns", "gpu_ns", "dispatches").sum()
    return pl.concat(tables, how="diagonal").group_by(_KEY, maintain_order=True).agg(sums)


def _launched(work: pl.DataFrame, tree: OperatorTree, spans: pl.DataFrame, dispatches: int) -> pl.DataFrame:
    """GPU work where its operator is, or where it was launched if that is in none."""
    row = pl.select(pl.coalesce(work["owner"], work["within"])).to_series()
    return work.select(
        place=spans["place"].gather(row),
        kind=spans["kind"].gather(row).fill_null("forward"),
        operator=tree.spans["name"].gather(work["owner"]),
        gpu_ns="gpu_ns",
        dispatches=pl.lit(dispatches),
    )


def kernel_use(tree: OperatorTree, places: Places, matrix: dict[str, bool]) -> pl.DataFrame:
    """For each place, of the kernels directly in it: kernel_ns, matrix_ns (that use matrix units), unknown_ns (of which
    that is not known), occupied_ns (with an occupancy) and weighted (their occupancy times their length)."""
    kernels = tree.kernels
    row = pl.select(pl.coalesce(kernels["owner"], kernels["within"])).to_series()
    uses = pl.col("kernel").replace_strict(matrix, default=None, return_dtype=pl.Boolean)
    length, occupied = pl.col("gpu_ns"), pl.col("occupancy").is_not_null()
    return (
        kernels.with_columns(place=places.of_span.gather(row), uses=uses)
        .group_by("place")
        .agg(
            kernel_ns=length.sum(),
            matrix_ns=length.filter(pl.col("uses")).sum(),
            unknown_ns=length.filter(pl.col("uses").is_null()).sum(),
            occupied_ns=length.filter(occupied).sum(),
            weighted=(length * pl.col("occupancy")).sum(),
        )
    )
