"""What was read beside the work: power, clocks, temperatures, utilisation, and memory in use."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.readings import points
from rocm_perf.analysis.memory.levels import allocated_bytes
from rocm_perf.analysis.program.energy import sensors_of_gpus
from rocm_perf.analysis.timeline.places import Places
from rocm_perf.model.trace import Trace

_UNIT_AT_END = r"_(w|c|mhz|bytes|percent|v|j)$"
_COUNTER = ["node", "group", "title", "unit"]


def counters(trace: Trace, places: Places) -> pl.DataFrame:
    """Every reading within the time of the timeline (group, title, unit, at_ns, value), counter by counter."""
    rows = pl.concat([_sampled(trace), _allocated(trace)]).drop_nulls(["time_ns", "value"])
    placed = places.on_gpus(places.since_begin(rows.filter(pl.col("value").is_finite())))
    inside = placed.filter(pl.col("time_ns").is_between(0, places.length_ns))
    ordered = inside.sort([*_COUNTER, "time_ns", "opens"], maintain_order=True)
    return ordered.select("group", "title", "unit", pl.col("time_ns").alias("at_ns"), "value")


def _sampled(trace: Trace) -> pl.DataFrame:
    """The readings of sensors, on the GPU that they belong to where that is known."""
    samples = points(trace.table("samples"))
    gpus = sensors_of_gpus(trace, samples).rename({"agent_id": "gpu", "sensor": "agent_id"})
    known = samples.join(gpus, on=["node", "agent_id"], how="left", nulls_equal=True, maintain_order="left")
    title = pl.col("metric").str.replace(_UNIT_AT_END, "").str.replace_all("_", " ")
    return known.select(
        "node",
        pl.coalesce("gpu", "agent_id").alias("agent_id"),
        title.alias("title"),
        pl.col("unit").fill_null(""),
        "time_ns",
        "value",
        "opens",
    )


def _allocated(trace: Trace) -> pl.DataFrame:
    return allocated_bytes(trace).select(
        "node",
        "agent_id",
        pl.format("allocated memory ({})", pl.col("level").str.to_lowercase()).alias("title"),
        pl.lit("B").alias("unit"),
        "time_ns",
        pl.col("bytes").cast(pl.Float64).alias("value"),
        pl.lit(True).alias("opens"),
    )
