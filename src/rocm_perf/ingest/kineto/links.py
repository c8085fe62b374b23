"""Links that torch.profiler records: from forward to backward operators, and between streams that wait."""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest.kineto.columns import Columns, timed


def links(columns: Columns, base: int) -> pl.DataFrame:
    """The table of links."""
    starts, ends = (timed(columns.frame(f"flow_{phase}"), base) for phase in "sf")
    waits = timed(columns.frame("wait"), base)
    frames = []
    if starts.height and ends.height:
        frames.append(_to_backward(starts, ends))
    if waits.height:
        frames.append(_to_waiting_streams(waits))
    if not frames:
        return pl.DataFrame()
    return pl.concat(frames, how="diagonal").with_columns(pl.lit("recorded").alias("known"))


def _to_backward(starts: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    pairs = starts.join(ends, on=["pid", "id"], suffix="_end")
    return pairs.select(
        pl.lit("forward_backward").alias("kind"),
        "pid",
        pl.col("start_ns").alias("cause_ns"),
        pl.col("tid").alias("cause_track"),
        pl.col("start_ns_end").alias("effect_ns"),
        pl.col("tid_end").alias("effect_track"),
    )


def _to_waiting_streams(waits: pl.DataFrame) -> pl.DataFrame:
    return waits.filter(pl.col("wait_on_stream").is_not_null()).select(
        pl.lit("event").alias("kind"),
        pl.col("wait_on_stream").alias("cause_track"),
        pl.col("start_ns").alias("effect_ns"),
        pl.col("stream_id").alias("effect_track"),
    )
