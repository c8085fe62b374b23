"""What a recording covers, with the streams that vanish from it after the start-up."""

from __future__ import annotations

from typing import Any

import polars as pl
from msgspec.structs import replace

from rocm_perf.analysis.basis.keys import telling
from rocm_perf.analysis.basis.passes import shown_pass
from rocm_perf.analysis.phases.focus import judged_span
from rocm_perf.analysis.trust import coverage as recorded
from rocm_perf.model.coverage import Coverage
from rocm_perf.model.finding import Finding
from rocm_perf.model.time_window import Span
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_share

FORMULAS = recorded.FORMULAS

# A stream that ran regularly and then stays silent this many times its longest pause has vanished.
_SILENCE_FACTOR = 10
_SILENCE_SHARE = 0.2
_REGULAR_DISPATCHES = 20


def coverage(trace: Trace) -> Coverage:
    """Counts of the pass that is shown, and a finding for every hole."""
    covered = recorded.coverage(trace)
    if covered.launches_without_kernels == 0:  # every launch has its kernel: none was lost
        return covered
    dispatches = trace.table("dispatches").filter(pl.col("pass_id") == (shown_pass(trace) or 0))
    return replace(covered, holes=(*covered.holes, *_vanished_streams(dispatches, judged_span(trace))))


def _vanished_streams(dispatches: pl.DataFrame, judged: Span | None) -> list[Finding]:
    """Streams that ran regularly and fell silent while others went on, apart from those of the start-up."""
    begun_ns = judged.start_ns if judged and judged.start_ns is not None else -1
    key = ["node", "pid", "pass_id", "agent_id", "queue_id", "stream_id"]
    timed = dispatches.drop_nulls(["start_ns", "end_ns"])
    if not telling(key, timed):
        return []
    pause = pl.col("start_ns") - pl.col("end_ns").shift(1)
    streams = (
        timed.sort("start_ns")
        .group_by(key)
        .agg(pl.len().alias("count"), pl.col("end_ns").max().alias("last"), pause.max().alias("pause"))
        .with_columns(pl.col("last").max().over("node", "pass_id").alias("finish"))
    )
    window = int(timed.select(pl.col("end_ns").max() - pl.col("start_ns").min()).item())
    silence = pl.col("finish") - pl.col("last")
    gone = streams.filter(
        (pl.col("count") >= _REGULAR_DISPATCHES)
        & (pl.col("last") > begun_ns)
        & (silence > _SILENCE_FACTOR * pl.col("pause"))
        & (silence > _SILENCE_SHARE * window)
    )
    return [_vanished(row, window) for row in gone.sort(key).iter_rows(named=True)]


def _vanished(row: dict[str, Any], window: int) -> Finding:
    stream = row["queue_id"] if row["stream_id"] is None else row["stream_id"]
    silence = format_share((row["finish"] - row["last"]) / window)
    return Finding(
        id="stream-vanishes",
        severity="warning",
        title=f"stream {stream} of GPU {row['agent_id']} falls silent",
        evidence=(f"{row['count']:,} dispatches, then none for {silence} of the recording",),
        remedy="If the program kept using it, records were dropped: enlarge the profiler's buffer.",
    )
