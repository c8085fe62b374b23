"""What a Perfetto trace shows: the slices and readings of a recording, and those that analyses derived from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from rocm_perf.errors import UsageError
from rocm_perf.model.derived import CATEGORY, DerivedTracks
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.lanes import lanes_of
from rocm_perf.render.formats.slices import PLAIN, slices_of

_CLOCKED = ("dispatches", "api_calls", "ops", "copies", "ranges", "samples")
_COUNTER = ["agent_id", "name", "unit", "derived"]


@dataclass(frozen=True)
class Contents:
    """`slices` (see slices.py) and `readings` (counter, time_ns, value) refer to `tracks` (pid, tid, agent_id, name,
    derived) and `counters` (agent_id, name, unit, derived) by place."""

    trace: Trace
    slices: pl.DataFrame
    tracks: pl.DataFrame
    readings: pl.DataFrame
    counters: pl.DataFrame

    @property
    def notes(self) -> list[str]:
        """The columns of slices that are annotations."""
        return [column for column in self.slices.columns if column not in PLAIN]

    @property
    def first_ns(self) -> int:
        """The first time of all."""
        first: int | None = pl.concat([self.slices["start_ns"], self.readings["time_ns"]]).min()  # type: ignore[assignment]
        return first or 0

    def only(self, slices: pl.Series, readings: pl.Series) -> Contents:
        """The contents with some of the slices and readings."""
        return replace(self, slices=self.slices.filter(slices), readings=self.readings.filter(readings))


def contents(trace: Trace, derived: DerivedTracks) -> Contents:
    """The first pass of every process, the sensors, and what was derived; raises where one clock cannot show it."""
    nodes = {node for table in _CLOCKED for node in trace.table(table)["node"].unique()}
    if len(nodes) > 1:
        raise UsageError(
            "a Perfetto trace has one clock",
            f"this run has {len(nodes)} machines, whose times cannot be compared",
        )
    recorded = slices_of(trace)
    slices, tracks = _derived_slices(derived.slices, recorded.tracks.height)
    readings, counters = _readings(trace, derived.readings)
    shown = Contents(
        trace=trace,
        slices=pl.concat([recorded.rows, slices], how="diagonal"),
        tracks=pl.concat([recorded.tracks.with_columns(derived=False), tracks], how="diagonal"),
        readings=readings,
        counters=counters,
    )
    if shown.first_ns < 0:
        raise UsageError(
            "a Perfetto trace has no times before zero", f"this run begins at {shown.first_ns} ns"
        )
    return shown


def _derived_slices(slices: pl.DataFrame, tracks_before: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Derived slices in the order of their tracks and starts, and these tracks."""
    names = slices["track"].unique(maintain_order=True)
    places = pl.DataFrame({"track": names}).with_row_index("place", tracks_before)
    ordered = (
        slices.join(places, on="track", maintain_order="left")
        .sort("place", "start_ns", pl.col("end_ns").neg(), maintain_order=True)
        .with_columns(pl.col("place").alias("track"), pl.lit(CATEGORY).alias("category"))
        .drop("place")
    )
    return ordered.with_columns(lanes_of(ordered)), pl.DataFrame({"name": names, "derived": True})


def _readings(trace: Trace, derived: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Readings of sensors, as rocprofv3 names them, and derived ones; and their counters."""
    sensor = pl.coalesce(pl.format("AGENT [{}] PMC {}", "agent_id", "metric"), "metric")
    sampled = trace.table("samples").select(
        "agent_id", sensor.alias("name"), "unit", pl.lit(False).alias("derived"), "time_ns", "value"
    )
    computed = derived.rename({"track": "name"}).with_columns(derived=True)
    readings = pl.concat([sampled, computed], how="diagonal").drop_nulls(["time_ns", "value"])
    counters = readings.select(_COUNTER).unique(maintain_order=True).with_row_index("counter")
    numbered = readings.join(counters, on=_COUNTER, nulls_equal=True, maintain_order="left")
    return (
        numbered.select("counter", "time_ns", "value").sort("counter", maintain_order=True),
        counters.drop("counter"),
    )
