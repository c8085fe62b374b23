"""A recording drawn over time: rows of slices and of readings, as columns. web/src/data.ts is the same for the page."""

from __future__ import annotations

from typing import Literal

import msgspec
import polars as pl

TrackKind = Literal["phases", "path", "gaps", "queue", "copies", "thread", "ranges", "counter"]

# Of every slice. Times count from the timeline's begin; `name` is a category of pl.Enum(names).
SLICE = {
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "name": pl.UInt32,  # index into the timeline's names
    "depth": pl.UInt8,  # the line within its track: how deep it is nested, or what overlaps beside it
    "count": pl.UInt32,  # events that were merged into it, usually 1
    "busy_ns": pl.Int64,  # time of these events together; its own length where it is a single one
    "on_path": pl.Boolean,  # the critical path runs through it
}
READING = {"at_ns": pl.Int64, "value": pl.Float64}
FLOW = {"cause": pl.UInt32, "effect": pl.UInt32}  # rows of `slices`: what launched, and what was launched


class Track(msgspec.Struct, frozen=True, eq=False):
    """One row of the timeline: `length` slices from `first` on, or as many readings of a counter."""

    kind: TrackKind
    group: str  # rows of one group stand together: a GPU, a process
    title: str
    first: int
    length: int
    unit: str = ""  # of a counter


class SliceDetail(msgspec.Struct, frozen=True, eq=False):
    """One thing that is known of neighbouring slices, the first of which is `first`; null where it was not recorded."""

    label: str
    unit: str  # "ns", "B", or nothing
    first: int
    values: pl.Series  # numbers, or texts as pl.UInt32 indices into the timeline's names
    is_text: bool = False


class Timeline(msgspec.Struct, frozen=True, eq=False):
    """The tracks in the order in which they are shown. Slices and readings of a track are in the order of time."""

    begin_ns: int  # on the recording's own clock
    length_ns: int
    names: tuple[str, ...]
    labels: tuple[str, ...]  # of each name, what fits into a slice
    tracks: tuple[Track, ...]
    slices: pl.DataFrame  # SLICE
    details: tuple[SliceDetail, ...]
    readings: pl.DataFrame  # READING
    flows: pl.DataFrame  # FLOW
    steps: pl.Series  # where each step begins
    judged: tuple[int, int] | None  # the part that the verdict is about
    thinned: str | None = None  # what was merged to keep it small, in words
    notes: tuple[str, ...] = ()

    def slices_of(self, track: Track) -> pl.DataFrame:
        """The slices of one track."""
        return self.slices.slice(track.first, 0 if track.kind == "counter" else track.length)
