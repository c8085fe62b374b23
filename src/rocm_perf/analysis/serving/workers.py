"""The processes of a recording, and which of them used a GPU: a server starts many, and few of them do."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.basis.work_in_steps import PROCESS
from rocm_perf.analysis.serving.steps import timed_steps
from rocm_perf.model.results.serving import Worker
from rocm_perf.model.trace import Trace

_IS_NONE = (pl.col("pid") < 0).fill_null(value=False)  # torch.profiler's own overheads are of process -1
_SEEN_IN = ("processes", "api_calls", "ops", "ranges", "dispatches", "copies")


def workers(trace: Trace, judged: tuple[int, int | None]) -> tuple[Worker, ...]:
    """Every process that was recorded, the one with most GPU time first; `judged` is that of the table of steps."""
    work = launched_work(trace)
    is_kernel = pl.col("kind") == "kernel"
    used = work.group_by(PROCESS).agg(
        pl.col("agent_id").unique().drop_nulls().sort().alias("agents"),
        is_kernel.sum().cast(pl.Int64).alias("kernels"),
    )
    busy = union_ns(work, PROCESS).select(*PROCESS, gpu_ns="union_ns")
    steps = timed_steps(trace).group_by(PROCESS).agg(pl.len().cast(pl.Int64).alias("steps"))
    table = _processes(trace)
    for more in (used, busy, steps):
        table = table.join(more, on=PROCESS, how="left", nulls_equal=True)
    counted = table.with_columns(pl.col("kernels", "gpu_ns", "steps").fill_null(0))
    ordered = counted.sort("gpu_ns", *PROCESS, descending=[True, False, False])
    return tuple(
        Worker(
            node=row["node"],
            pid=row["pid"],
            rank=row["rank"],
            name=row["command"] or "",
            agents=tuple(row["agents"] or ()),
            kernels=row["kernels"],
            gpu_ns=row["gpu_ns"],
            steps=row["steps"],
            judged=(row["node"], row["pid"]) == judged,
        )
        for row in ordered.iter_rows(named=True)
    )


def _processes(trace: Trace) -> pl.DataFrame:
    """Every process of the timed pass that any table names, with its rank and its command."""
    number = timed_pass(trace)
    seen = [
        trace.lazy(name)
        .filter(pl.col("pass_id") == number, ~_IS_NONE)
        .select(
            *PROCESS, "rank", command=pl.col("command") if name == "processes" else pl.lit(None, pl.String)
        )
        .unique(maintain_order=True)
        for name in _SEEN_IN
        if trace.has(name)
    ]
    return pl.concat(seen).group_by(PROCESS).agg(pl.col("rank", "command").drop_nulls().first()).collect()
