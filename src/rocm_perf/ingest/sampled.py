"""The windows of a run that a profiler recorded again and again without a word about when: they are told by the pauses
between them, whose length is known from what the profiler was asked for."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.model import schema
from rocm_perf.model.window import Window
from rocm_perf.units import NS_PER_S

_RECORDED = ("dispatches", "copies", "api_calls")
_PROCESS = ("node", "pid", "pass_id")
_SHORTEST = (
    0.9  # of the pause that was asked for: timers are late, and what begins in a window may end behind it
)


def told_windows(tables: Mapping[str, pl.DataFrame], window: Window) -> pl.DataFrame:
    """The windows of each process, from the first to the last of what was recorded in each."""
    pause_ns = ((window.period_s or 0) - window.open_s) * NS_PER_S
    spans = [
        frame.select(*_PROCESS, "start_ns", pl.coalesce("end_ns", "start_ns").alias("end_ns"))
        for name, frame in tables.items()
        if name in _RECORDED
    ]
    if not spans:
        return schema.empty("windows")
    rows = pl.concat(spans).drop_nulls("start_ns").sort("start_ns")
    since = pl.col("start_ns") - pl.col("end_ns").cum_max().shift(1)
    opens = (since >= _SHORTEST * pause_ns).fill_null(True).over(_PROCESS)
    numbered = rows.with_columns(window=opens.cum_sum().over(_PROCESS).cast(pl.Int64))
    windows = numbered.group_by(*_PROCESS, "window").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    return schema.conform("windows", windows.sort(*_PROCESS, "window"))
