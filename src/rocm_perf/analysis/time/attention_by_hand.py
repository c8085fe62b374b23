"""Attention written out as matrix product, softmax, matrix product: the scores go to memory and back, where a fused
kernel keeps them in registers."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.analysis.basis.keys import as_one, ordered, telling
from rocm_perf.model.results.kernels import AttentionByHand, AttentionProduct

_STREAM = ("node", "pid", "agent_id", "queue_id", "stream_id")
_BETWEEN = ("softmax", "elementwise", "copy", "random")  # scaling, mask, casts, dropout
_LONGEST = 8  # kernels between two products: a longer run does something else as well
_OWN = 0.9  # of its dispatches: then what a kernel computes on average is what it computes in attention
_LOSS = re.compile(r"LogSoft|nll_loss|[cC]ross_?[eE]ntropy")  # softmax kernels that no attention uses


def attention_by_hand(dispatches: pl.DataFrame, family: pl.Series) -> AttentionByHand | None:
    """The runs of kernels between two products of a stream that hold a softmax and nothing but what scales, masks and
    converts its rows; None where there are none. `family` is that of each dispatch."""
    kernels = dispatches.select(*_STREAM, "kernel", "start_ns", "end_ns").with_columns(family.alias("family"))
    if not (family == "softmax").any():
        return None
    keys = telling(_STREAM, kernels)
    in_streams = ordered(kernels, [*keys, "start_ns"])
    elsewhere = as_one(keys).ne_missing(as_one(keys).shift(1)) if keys else pl.lit(False)
    numbered = in_streams.with_columns(
        is_product=pl.col("family") == "gemm", is_first=elsewhere.fill_null(True)
    ).with_columns(run=(pl.col("is_product") | pl.col("is_first")).cum_sum())
    runs = _runs(numbered).filter("is_attention")
    if not runs.height:
        return None
    return AttentionByHand(
        calls=runs.height,
        between_ns=int(runs["between_ns"].sum()),
        kernels=tuple(runs["names"].explode().unique(maintain_order=True)),
        products=_products(numbered, runs["run"]),
    )


def _products(kernels: pl.DataFrame, runs: pl.Series) -> tuple[AttentionProduct, ...]:
    """The products that begin one of these runs, or the run after one of them, by kernel. One that has other work as
    well is left out: what it computes here is not known."""
    first = runs.implode()
    inside = pl.col("run").is_in(first) | (pl.col("run") - 1).is_in(first)
    length = pl.col("end_ns") - pl.col("start_ns")
    products = kernels.filter("is_product").group_by("kernel", maintain_order=True)
    sums = products.agg(calls=inside.sum(), total_ns=length.filter(inside).sum(), share=inside.mean())
    rows = sums.filter(pl.col("share") >= _OWN).select("kernel", "calls", "total_ns").iter_rows()
    return tuple(AttentionProduct(*row) for row in rows)


def _runs(kernels: pl.DataFrame) -> pl.DataFrame:
    """One row for each product with what follows it up to the next: between_ns, the names of the kernels, and
    is_attention."""
    losses = [name for name in kernels["kernel"].unique() if _LOSS.search(name)]
    fits = pl.col("family").is_in(_BETWEEN) & ~pl.col("kernel").is_in(losses)
    length = pl.col("end_ns") - pl.col("start_ns")
    between = ~pl.col("is_product")
    runs = kernels.group_by("run", maintain_order=True).agg(
        pl.col("is_product", "is_first").first(),
        between_ns=length.filter(between).sum(),
        names=pl.col("kernel").filter(between),
        softmax=(pl.col("family") == "softmax").any(),
        fitting=(fits | pl.col("is_product")).all() & (pl.len() <= _LONGEST),
    )
    ends_in_product = pl.col("is_product").shift(-1, fill_value=False) & ~pl.col("is_first").shift(
        -1, fill_value=True
    )
    return runs.with_columns(
        is_attention=pl.col("is_product") & pl.col("softmax") & pl.col("fitting") & ends_in_product
    )
