"""What sensors of GPUs read over time, thinned to what a chart can show."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.readings import HIGHEST, LOWEST, MEAN
from rocm_perf.model.results.energy import SensorSeries
from rocm_perf.model.trace import Trace

POINTS = 200  # at most, of one sensor
_METRICS = (
    "power_w",
    "clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "temperature_edge_c",
    "temperature_memory_c",
    "utilization_percent",
)
_SENSOR = ["metric", "node", "agent_id"]


def sensor_series(trace: Trace) -> tuple[SensorSeries, ...]:
    """Each sensor that was read more than once: the lowest, the mean and the highest reading of each stretch."""
    readings = (
        trace.table("samples").filter(pl.col("metric").is_in(_METRICS)).drop_nulls(["time_ns", "value"])
    )
    groups = readings.sort("time_ns").group_by(_SENSOR, maintain_order=True)
    series = (_series(group) for _, group in groups if group["time_ns"].n_unique() > 1)
    return tuple(sorted(series, key=lambda one: (_METRICS.index(one.metric), one.node, one.agent_id or 0)))


def _series(readings: pl.DataFrame) -> SensorSeries:
    first = readings.row(0, named=True)
    begin, end = first["time_ns"], readings["time_ns"][-1]
    step = (end - begin) / min(POINTS, readings.height)
    place = ((pl.col("time_ns") - begin) / step).floor().clip(0, POINTS - 1).cast(pl.Int64)
    table = (
        readings.group_by(place=place)
        .agg(lowest=LOWEST.min(), mean=MEAN, highest=HIGHEST.max(), at=pl.col("time_ns").mean())
        .sort("at")
    )
    return SensorSeries(
        metric=first["metric"],
        unit=first["unit"] or "",
        node=first["node"],
        agent_id=first["agent_id"],
        readings=readings.height,
        at_ns=tuple(round(at) for at in table["at"]),
        lowest=tuple(table["lowest"]),
        mean=tuple(table["mean"]),
        highest=tuple(table["highest"]),
    )
