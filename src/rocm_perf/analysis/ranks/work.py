"""What each rank did in all, in sums that are small enough to be gathered from many ranks: evidence of a cause."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.ranks.members import who
from rocm_perf.analysis.ranks.parts import host_spans, owned
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.trace import Trace

KERNEL, HOST = "kernel", "host"
_CLOCK = "clock_mhz"
_LENGTH = pl.col("end_ns") - pl.col("start_ns")
_SUMS = (pl.len().cast(pl.Int64).alias("calls"), _LENGTH.sum().alias("total_ns"))


class Work(msgspec.Struct, frozen=True, eq=False):
    """What ranks did.

    `ranks`: who, kernels (how many, without those that communicate), kernel_ns (the sum of their lengths), clock_mhz
    (of its GPU, where it was read), host_rows (calls and operators of its host that were recorded).
    `names`: who, kind (KERNEL, or HOST for operators and ranges), name, calls, total_ns.
    """

    ranks: pl.DataFrame
    names: pl.DataFrame


@once_per_trace
def work(trace: Trace) -> Work:
    """What the ranks of a recording did."""
    rows = timed_dispatches(trace).with_columns(who()).drop_nulls("who")
    kernels = rows.filter(~is_collective(rows["kernel"]))
    host = {table: _host_sums(trace, table) for table in ("api_calls", "ops", "ranges")}
    recorded = pl.concat([host["api_calls"], host["ops"]])
    per_rank = [
        kernels.group_by("who").agg(kernels=pl.len().cast(pl.Int64), kernel_ns=_LENGTH.sum()),
        _clocks(trace, rows),
        recorded.group_by("who").agg(host_rows=pl.col("calls").sum()),
    ]
    everyone = pl.concat([part.select("who") for part in per_rank]).unique().sort("who")
    for part in per_rank:
        everyone = everyone.join(part, on="who", how="left", maintain_order="left")
    return Work(ranks=everyone, names=_names(kernels, pl.concat([host["ops"], host["ranges"]])))


def _clocks(trace: Trace, dispatches: pl.DataFrame) -> pl.DataFrame:
    """The median of the clocks that were read of each rank's GPU."""
    read = trace.table("samples").filter(metric=_CLOCK).drop_nulls("agent_id")
    gpus = dispatches.select("node", "agent_id", "who").unique()
    clocks = read.join(gpus, on=["node", "agent_id"]).group_by("who")
    return clocks.agg(pl.col("value").median().alias(_CLOCK))


def _host_sums(trace: Trace, table: str) -> pl.DataFrame:
    """By process before it is known whose it is: who, name, calls, total_ns."""
    of_processes = host_spans(trace, table).group_by("node", "rank", "pid", "name").agg(*_SUMS)
    return owned(of_processes, trace).select("who", "name", "calls", "total_ns")


def _names(kernels: pl.DataFrame, host: pl.DataFrame) -> pl.DataFrame:
    by_kind = {
        KERNEL: kernels.group_by("who", pl.col("kernel").alias("name")).agg(*_SUMS),
        HOST: host.group_by("who", "name").agg(pl.col("calls", "total_ns").sum()),
    }
    return pl.concat(
        sums.select("who", pl.lit(kind).alias("kind"), "name", "calls", "total_ns")
        for kind, sums in by_kind.items()
    )
