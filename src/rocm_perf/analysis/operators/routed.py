"""What is recorded beside each call of a mixture of experts, as the text that work/routed.py reads."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import joined, named
from rocm_perf.analysis.operators.tree import OperatorTree
from rocm_perf.analysis.operators.work.routed import CHOOSERS, MARK, UNKNOWN, experts_of_a_token
from rocm_perf.model.torch_call import arguments

_ARGUMENTS = ["shapes", "dtypes", "strides", "inputs"]


def with_routed(tree: OperatorTree, operators: pl.DataFrame) -> pl.DataFrame:
    """The operators with the text `routed`; null of those that launched no kernel of experts."""
    launches = _launches(tree)
    if not launches.height:
        return operators.with_columns(pl.lit(None, pl.String).alias("routed"))
    texts = joined(launches, "row", "launch", "\n").join(_top_k(tree), on="row", how="left")
    known = pl.col("top_k").cast(pl.String).fill_null(UNKNOWN)
    text = texts.select("row", pl.concat_str(known, "launch", separator="\n").alias("routed"))
    return operators.join(text, on="row", how="left", maintain_order="left")


def _launches(tree: OperatorTree) -> pl.DataFrame:
    """For the row of each operator, the kernels that it launched itself, in their order, as `1748x1x1 name`."""
    owned = tree.kernels.drop_nulls("owner")
    chosen = owned.filter(named(owned["kernel"], pl.col("name").str.contains(MARK)))
    sizes = [pl.col(f"grid_{axis}") // pl.col(f"workgroup_{axis}") for axis in "xyz"]
    grid = pl.concat_str(sizes, separator="x").fill_null(UNKNOWN)
    launch = pl.concat_str(grid, pl.col("kernel").cast(pl.String), separator=" ")
    launches = chosen.select("start_ns", "end_ns", pl.col("owner").alias("row"), launch.alias("launch"))
    return launches.sort("start_ns", "end_ns", "launch").select("row", "launch")


def _top_k(tree: OperatorTree) -> pl.DataFrame:
    """For the row of each operator, how many experts the operators directly inside it choose for a token."""
    inside = tree.operators.drop_nulls("operator")
    choices = inside.filter(named(inside["name"], pl.col("name").is_in(CHOOSERS)))
    described = choices.select("signature", pl.col("name").cast(pl.String), *_ARGUMENTS)
    distinct = described.unique("signature", maintain_order=True)
    counts = [experts_of_a_token(name, arguments(*recorded)) for _, name, *recorded in distinct.iter_rows()]
    by_call = distinct.select("signature").with_columns(pl.Series("top_k", counts, dtype=pl.Int64))
    return (
        choices.select("signature", row="operator")
        .join(by_call, on="signature", maintain_order="left")
        .group_by("row", maintain_order=True)
        .agg(pl.col("top_k").drop_nulls().first())
    )
