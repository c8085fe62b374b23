"""A layer: all slices of one kind of track, before they become rows of the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.timeline.lines import lines
from rocm_perf.model.results.timeline import TrackKind

TRACK = ("group", "title")  # of a track in a layer
_BASE = ("start_ns", "end_ns", "name", "on_path")
_IDS = ("row", "call_row")  # what flows are found by


class Meaning(NamedTuple):
    """What a column of details is called, and its unit."""

    label: str
    unit: str = ""
    adds_up: bool = False  # merged slices have the sum of theirs


@dataclass(frozen=True, eq=False)
class Layer:
    """`slices`: group, title, start_ns, end_ns, name and on_path of each, the columns of `details`, and perhaps the
    table and the row that it comes from (`row`) and the call that launched it (`call_row`).

    Ready for drawing, they are in the order of tracks and start, with depth, count and busy_ns.
    """

    kind: TrackKind
    slices: pl.DataFrame
    details: Mapping[str, Meaning] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)  # names that are ids, and what is shown for them


def arranged(layer: Layer, by: tuple[str, ...] = ()) -> Layer:
    """The layer in the order of its tracks, which is that of `by`, and of time; with what overlaps on lines of its
    own, and without details that are not recorded."""
    known = {
        name: meaning
        for name, meaning in layer.details.items()
        if layer.slices[name].null_count() < layer.slices.height
    }
    usable = layer.slices.sort([*by, *TRACK, "start_ns"], nulls_last=True, maintain_order=True)
    ordered = _ordered(usable)
    length = pl.col("end_ns") - pl.col("start_ns")
    kept = [name for name in (*TRACK, *_BASE, *_IDS, *known) if name in ordered.columns]
    slices = ordered.select("track", *kept, count=pl.lit(1, pl.UInt32), busy_ns=length, depth=lines(ordered))
    return Layer(layer.kind, slices, known, layer.words)


def _ordered(slices: pl.DataFrame) -> pl.DataFrame:
    """The slices with the number of their track, tracks in the order in which they are first met; of slices that start
    together on one, the longest comes first."""
    tracks = slices.select(TRACK).unique(maintain_order=True).with_row_index("track")
    numbered = slices.join(tracks, on=TRACK, how="left", maintain_order="left")
    return numbered.sort(
        ["track", "start_ns", "end_ns"], descending=[False, False, True], maintain_order=True
    )
