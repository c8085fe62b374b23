"""Which times compare: those of one clock domain. Ingest brings the clocks of machines onto one where it can."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.trace import Trace

_PROCESS = ["node", "pid"]


def node_domains(trace: Trace) -> pl.DataFrame:
    """The clock domain of each node (node, domain): nodes whose processes all share one have that; others their own."""
    clocks = trace.table("clocks").drop_nulls("domain")
    nodes = clocks.group_by("node").agg(pl.col("domain").min(), domains=pl.col("domain").n_unique())
    return nodes.filter(pl.col("domains") == 1).select("node", "domain")


def with_clocks(rows: pl.DataFrame, trace: Trace) -> pl.DataFrame:
    """The rows (node, pid) with `domain` and `error_ns`, that of their process; without clocks, those of their node."""
    clocks = trace.table("clocks").select(*_PROCESS, "domain", "error_ns").unique(_PROCESS, keep="first")
    joined = rows.join(clocks, on=_PROCESS, how="left", nulls_equal=True, maintain_order="left")
    apart = -1 - pl.col("node").cast(pl.Int64)  # beside the numbers of domains
    return joined.with_columns(pl.coalesce("domain", apart).alias("domain"))
