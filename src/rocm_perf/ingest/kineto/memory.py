"""Allocations and readings of memory that torch's allocator reports to torch.profiler (profile_memory=True)."""

from __future__ import annotations

import polars as pl


def memory(events: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The framework allocator's own events; device type 0 is the CPU."""
    if not events.height:
        return {}
    on_gpu = events.filter(pl.col("device_type") != 0)
    allocations = on_gpu.select(
        pl.when(pl.col("delta_bytes") < 0).then(pl.lit("FREE")).otherwise(pl.lit("ALLOC")).alias("operation"),
        pl.lit("CACHED").alias("level"),
        pl.when(pl.col("address") > 0).then(pl.col("address")).cast(pl.UInt64).alias("address"),
        pl.col("delta_bytes").abs().alias("size_bytes"),
        "start_ns",
        pl.col("start_ns").alias("end_ns"),
        pl.col("device_id").alias("agent_id"),
        "pid",
        "tid",
    )
    readings = [
        on_gpu.select(
            pl.col("start_ns").alias("time_ns"),
            pl.col("device_id").alias("agent_id"),
            pl.lit(f"torch_{name}_bytes").alias("metric"),
            pl.col(name).cast(pl.Float64).alias("value"),
            pl.lit("B").alias("unit"),
        ).drop_nulls("value")
        for name in ("allocated", "reserved")
    ]
    return {"allocations": allocations, "samples": pl.concat(readings)}
