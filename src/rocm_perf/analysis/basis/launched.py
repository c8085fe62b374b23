"""GPU work and the calls of the host that launched it."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import ordered, telling
from rocm_perf.analysis.basis.passes import timed_by_kernel, timed_copies, timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.whole import whole_of
from rocm_perf.model.trace import Trace

THREAD = ("node", "pid", "tid")
GPU = ("node", "agent_id")
CALL_KEY = ("node", "pid", "correlation_id")  # which call of which process
_KINDS = pl.Enum(["copy", "kernel"])
_WORK = ["start_ns", "end_ns", *GPU, "queue_id", "stream_id", "pid", "correlation_id", "op_id"]


@once_per_trace
def timed_calls(trace: Trace) -> pl.DataFrame:
    """API calls of the timed pass with a usable start and end, `domain` and `name` as categories."""
    usable = (pl.col("pass_id") == timed_pass(trace)) & (pl.col("end_ns") >= pl.col("start_ns"))
    names = pl.col("domain", "name").cast(pl.Categorical)
    columns = ("start_ns", "end_ns", *THREAD, "correlation_id", "op_id")
    return trace.lazy("api_calls").filter(usable).select(names, *columns).collect()


@once_per_trace
def launched_work(trace: Trace) -> pl.DataFrame:
    """Kernels and copies of the timed pass, each with the call that started it where that is recorded, be it before the
    part of the recording that this is.

    Columns: kind (kernel or copy), name, where and when it ran, and launch_name, launch_start, launch_end, tid; names
    and kinds are categories.
    """
    kernels = timed_by_kernel(trace).select(
        pl.lit("kernel", _KINDS).alias("kind"), pl.col("kernel").alias("name"), *_WORK
    )
    copies = timed_copies(trace).select(
        pl.lit("copy", _KINDS).alias("kind"),
        ("copy " + pl.col("kind")).cast(pl.Categorical).alias("name"),
        *_WORK,
    )
    launches = ordered(timed_calls(whole_of(trace)), ["start_ns"]).select(
        *CALL_KEY,
        "tid",
        pl.col("name").alias("launch_name"),
        pl.col("start_ns").alias("launch_start"),
        pl.col("end_ns").alias("launch_end"),
        pl.col("op_id").alias("launch_op"),
    )
    paired = with_calls(pl.concat([kernels, copies]), launches)
    return paired.with_columns(pl.coalesce("op_id", "launch_op").alias("op_id")).drop("launch_op")


@once_per_trace
def launched_kernels(trace: Trace) -> pl.DataFrame:
    """The kernels among the launched work."""
    return launched_work(trace).filter(pl.col("kind") == "kernel")


def call_key(*frames: pl.DataFrame) -> pl.Expr:
    """The CALL_KEY of rows of these frames as one number, null without the id; of a single process, the id itself."""
    if not telling(("node", "pid"), *frames):
        return pl.col("correlation_id").alias("call_key")
    process = pl.col("node").cast(pl.Int128) * (1 << 48) + pl.col("pid").fill_null(-1)
    return (process * (1 << 64) + pl.col("correlation_id")).alias("call_key")


def with_calls(work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Each row of `work` with the other columns of the first of `calls` that has its CALL_KEY.

    Ids rise with time, so both are mostly sorted by them, and joining what is sorted is several times faster.
    """
    key = call_key(work, calls)
    known = calls.select(key, pl.exclude(CALL_KEY)).drop_nulls("call_key")
    by_key = known if known["call_key"].is_sorted() else known.sort("call_key", maintain_order=True)
    first = by_key.filter((pl.col("call_key") != pl.col("call_key").shift(1)).fill_null(True))
    keys = work.select(key)
    if keys["call_key"].is_sorted():
        matching = keys.join_asof(first, on="call_key", tolerance=0)
    else:
        in_order = keys.with_row_index("place").sort("call_key")
        matching = in_order.join_asof(first, on="call_key", tolerance=0).sort("place").drop("place")
    return pl.concat([work, matching.drop("call_key")], how="horizontal")


def delay() -> pl.Expr:
    """From the return of the launching call to the start; negative where the start came first."""
    return pl.col("start_ns") - pl.col("launch_end")
