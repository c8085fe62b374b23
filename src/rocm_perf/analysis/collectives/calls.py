"""Every collective of a recording as one rank took part in it: how long, how much of that exposed, and the transfer,
which is the shortest time of all its ranks, since the others wait for the last one."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import overlap_ns
from rocm_perf.analysis.basis.passes import timed_by_kernel, timed_copies, timed_pass
from rocm_perf.analysis.collectives.bus import message_bytes
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.trace import Trace

GPU = ["node", "agent_id"]


def calls(trace: Trace) -> pl.DataFrame:
    """The timed collectives with `ns`, `exposed_ns`, `message_bytes`, `transfer_ns` and `ranks`."""
    usable = (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") >= pl.col("start_ns"))
    rows = trace.lazy("collectives").filter(usable).collect()
    rows = rows.with_columns(ns=pl.col("end_ns") - pl.col("start_ns"), message_bytes=message_bytes())
    unknown = pl.lit(None, pl.Int64).alias("exposed_ns")
    rows = rows.with_columns(_exposed(rows, working(trace)) if trace.rows("dispatches") else unknown)
    matched = pl.col("collective_id").is_not_null()
    return rows.with_columns(
        transfer_ns=pl.when(matched).then(pl.col("ns").min().over("collective_id")).otherwise("ns"),
        ranks=pl.when(matched).then(pl.len().over("collective_id")).otherwise(1).cast(pl.Int64),
    )


def working(trace: Trace) -> pl.DataFrame:
    """The spans of everything that GPUs do beside communicating: other kernels, and copies."""
    kernels = timed_by_kernel(trace).select(*GPU, "kernel", "start_ns", "end_ns")
    others = kernels.filter(~is_collective(kernels["kernel"])).drop("kernel")
    return pl.concat([others, timed_copies(trace).select(*GPU, "start_ns", "end_ns")])


def _exposed(rows: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    covered = overlap_ns(rows.select(*GPU, "start_ns", "end_ns"), others, GPU)
    exposed = rows.select(pl.when(pl.col("agent_id").is_not_null()).then(pl.col("ns") - covered))
    return exposed.to_series().alias("exposed_ns")
