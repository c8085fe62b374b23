"""Operators and Python frames nested as they ran, and the GPU work that each operator owns."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rocm_perf.analysis.basis.nested import (
    THREAD,
    enclosing,
    is_outermost,
    nearest,
    nest,
    subtree_sums,
    with_launch,
)
from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.model.trace import Trace

BY_LAUNCH = "the launching call lies inside the operator, on its thread"
BY_ID = "the recorded id of the operator"
UNOWNED = "none: launched outside of any recorded operator, or the launch is not recorded"

MODULE = "nn.Module: "
_BACKWARD = r"^\w+Backward\d*$"

_ID = ["node", "pass_id", "rank", "op_id"]


@dataclass(frozen=True)
class OperatorTree:
    """`spans`: operators and Python frames, each with row, parent, operator (the nearest operator above), self and
    total times. `kernels` and `copies`: GPU work with owner (a row of spans) and `known`, how that is known."""

    spans: pl.DataFrame
    kernels: pl.DataFrame
    copies: pl.DataFrame

    @property
    def operators(self) -> pl.DataFrame:
        return self.spans.filter(pl.col("category") == "operator")


def operator_tree(trace: Trace) -> OperatorTree:
    """Every operator of the timed pass, with what it did itself and what was done below it."""
    number = timed_pass(trace) or 0
    spans = nest(trace.table("ops").filter(pl.col("pass_id") == number))
    spans = spans.with_columns(nearest(spans["parent"], spans["category"] == "operator").alias("operator"))
    kernels = _owned(trace, timed_dispatches(trace), spans)
    usable = (pl.col("pass_id") == number) & (pl.col("end_ns") >= pl.col("start_ns"))
    copies = _owned(trace, trace.table("copies").filter(usable), spans)
    return OperatorTree(_with_times(spans, kernels, copies), kernels, copies)


def _owned(trace: Trace, work: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """GPU work with its operator: the innermost one open where and when it was launched, else the recorded id."""
    launched = with_launch(trace, work)
    points = launched.select(
        *THREAD[:-1], pl.col("launch_tid").alias("tid"), pl.col("launch_ns").alias("time_ns")
    )
    inside = enclosing(spans, points)
    by_launch = _operator_or_above(spans, inside)
    by_id = _by_recorded_id(work, spans)
    return launched.with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("gpu_ns"), by_launch.alias("seen"), by_id.alias("noted")
    ).with_columns(
        owner=pl.coalesce("seen", "noted"),
        known=pl.when(pl.col("seen").is_not_null())
        .then(pl.lit(BY_LAUNCH))
        .when(pl.col("noted").is_not_null())
        .then(pl.lit(BY_ID))
        .otherwise(pl.lit(UNOWNED)),
    )


def _operator_or_above(spans: pl.DataFrame, rows: pl.Series) -> pl.Series:
    """The row itself if it is an operator, else the nearest operator above."""
    is_operator = spans["category"] == "operator"
    own = pl.select(pl.when(is_operator).then(spans["row"]).otherwise(spans["operator"]).alias("own"))
    return own["own"].gather(rows)


def _by_recorded_id(work: pl.DataFrame, spans: pl.DataFrame) -> pl.Series:
    """Old traces repeat the correlation id in the operator's place; such ids say nothing."""
    ids = work["op_id"]
    if ids.count() == 0 or bool((ids == work["correlation_id"]).all()):
        return pl.Series("noted", [None] * work.height, dtype=pl.UInt32)
    operators = spans.filter(pl.col("category") == "operator").drop_nulls("op_id")
    unique = operators.select(*_ID, "row").unique(_ID, keep="none")
    return work.join(unique, on=_ID, how="left", nulls_equal=True, maintain_order="left")["row"]


def _with_times(spans: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame) -> pl.DataFrame:
    own = spans.select("row").join(_sums(kernels, "gpu_self_ns", "dispatches"), on="row", how="left")
    own = own.join(_sums(copies, "copy_ns", "copies"), on="row", how="left", maintain_order="left")
    own = own.sort("row").select(pl.exclude("row").fill_null(0))
    inside = pl.col("end_ns") - pl.col("start_ns")
    nested = (
        spans.filter(pl.col("category") == "operator")
        .group_by(pl.col("operator").alias("row"))
        .agg(inside.sum().alias("below_ns"))
    )
    timed = spans.with_columns(own).join(nested, on="row", how="left", maintain_order="left")
    return timed.with_columns(
        inside.alias("host_ns"),
        (inside - pl.col("below_ns").fill_null(0)).clip(lower_bound=0).alias("host_self_ns"),
        subtree_sums(timed["parent"], timed["gpu_self_ns"]).alias("gpu_total_ns"),
        subtree_sums(timed["parent"], timed["dispatches"]).alias("dispatches_below"),
        is_outermost(timed["operator"], timed["name"]),
    )


def _sums(work: pl.DataFrame, time: str, count: str) -> pl.DataFrame:
    return (
        work.drop_nulls("owner")
        .group_by(pl.col("owner").alias("row"))
        .agg(pl.col("gpu_ns").sum().alias(time), pl.len().cast(pl.Int64).alias(count))
    )


def backward_links(trace: Trace, tree: OperatorTree) -> tuple[pl.DataFrame, str | None]:
    """Pairs of rows (forward, backward), and how they are known.

    The recorded links where there are any. Else operators of one sequence number, and of several forward ones the
    last to begin before the backward one: operators inside it bear earlier numbers or the same.
    """
    operators = tree.operators
    links = trace.table("links").filter(pl.col("kind") == "forward_backward")
    if links.height:
        found = _by_links(links, operators)
        if found.height:
            return found, "recorded links"
    found = _by_sequence(operators)
    return found, "the same sequence number" if found.height else None


def _by_links(links: pl.DataFrame, operators: pl.DataFrame) -> pl.DataFrame:
    def at(side: str, name: str) -> pl.DataFrame:
        """Several operators may begin at the link's instant: the innermost is meant."""
        starts = operators.select(
            "node",
            "pid",
            pl.col("tid").alias(f"{side}_track"),
            pl.col("start_ns").alias(f"{side}_ns"),
            row="row",
        )
        return starts.unique(
            ["node", "pid", f"{side}_track", f"{side}_ns"], keep="last", maintain_order=True
        ).rename({"row": name})

    placed = links.join(
        at("cause", "forward"), on=["node", "pid", "cause_track", "cause_ns"], nulls_equal=True
    )
    placed = placed.join(
        at("effect", "backward"), on=["node", "pid", "effect_track", "effect_ns"], nulls_equal=True
    )
    return placed.select("forward", "backward").unique("backward", keep="last", maintain_order=True)


def _by_sequence(operators: pl.DataFrame) -> pl.DataFrame:
    numbered = operators.drop_nulls("sequence").filter(pl.col("sequence") >= 0)
    is_backward = pl.col("name").str.contains(_BACKWARD)
    key = ["node", "pass_id", "rank", "pid", "sequence"]
    backward = numbered.filter(is_backward).select(*key, pl.col("row").alias("backward"), "start_ns")
    forward = numbered.filter(~is_backward).select(*key, pl.col("row").alias("forward"), "start_ns")
    pairs = backward.join(forward, on=key, nulls_equal=True, suffix="_forward")
    earlier = pairs.filter(pl.col("start_ns_forward") < pl.col("start_ns")).sort("start_ns_forward")
    return earlier.unique("backward", keep="last", maintain_order=True).select("forward", "backward")
