"""Kernels that a graph ran, told from others in every format: their correlation id is that of a graph launch."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.calls import GRAPH_CALL

_CALL = ["node", "pass_id", "pid", "correlation_id"]


def with_graph_launches(dispatches: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The dispatches, those of a graph launch with a graph_id: the one recorded, else that of the launch."""
    launches = calls.filter(pl.col("name").str.contains(GRAPH_CALL)).drop_nulls("correlation_id")
    if not launches.height or not dispatches.height:
        return dispatches
    ids = launches.select(*_CALL, launched=pl.col("correlation_id")).unique(_CALL)
    launched = dispatches.join(ids, on=_CALL, how="left", nulls_equal=True, maintain_order="left")["launched"]
    return dispatches.with_columns(pl.coalesce(pl.col("graph_id"), launched).alias("graph_id"))
