"""What analyses add to the tracks of a recording, for viewers of traces."""

from __future__ import annotations

import msgspec
import polars as pl

ANALYSIS = "rocm-perf"  # the track above all derived ones: they are not read back
CATEGORY = "rocm_perf"  # of their slices

_SLICES = {"track": pl.String, "name": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64}
_READINGS = {"track": pl.String, "unit": pl.String, "time_ns": pl.Int64, "value": pl.Float64}


class DerivedTracks(msgspec.Struct, frozen=True):
    """Slices and counter readings by the names of their tracks, which are in the order in which they first appear.
    Further columns of slices are annotations."""

    slices: pl.DataFrame = msgspec.field(default_factory=lambda: pl.DataFrame(schema=_SLICES))
    readings: pl.DataFrame = msgspec.field(default_factory=lambda: pl.DataFrame(schema=_READINGS))


NOTHING_DERIVED = DerivedTracks()
