"""A layer: all slices of one kind of track, before they become rows of the timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import polars as pl

from rocm_perf.analysis.timeline.lines import lines
from rocm_perf.model.results.timeline import TrackKind

TRACK = ("group", "title")  # of a track in a layer
_BASE = ("start_ns", "end_ns", "name", "on_path")
_CALL = "call_row"  # what flows are found by
_EXACT = 1 << 53  # whole numbers up to here are exact in JavaScript


class Meaning(NamedTuple):
    """What a column of details is called, and its unit."""

    label: str
    unit: str = ""
    adds_up: bool = False  # merged slices have the sum of theirs


class Layer(msgspec.Struct, frozen=True, eq=False):
    """`tracks`: their group and title. `slices`, in the order of tracks and start: track (a row of tracks), start_ns,
    end_ns, name, on_path, depth, count, busy_ns, the columns of `details`, and perhaps call_row: the row of the call
    that it is, or that launched it."""

    kind: TrackKind
    tracks: pl.DataFrame
    slices: pl.DataFrame
    details: Mapping[str, Meaning] = msgspec.field(default_factory=dict)


def places_of(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The distinct values of the columns that tell tracks apart, in their order."""
    return rows.select(by).unique().sort(by, nulls_last=True)


def layer(
    kind: TrackKind, rows: pl.DataFrame, where: pl.DataFrame, details: Mapping[str, Meaning] | None = None
) -> Layer:
    """The rows on their tracks, with what overlaps on lines of its own, and without details that are not recorded.

    `where` has a row for each place that rows name, and its group and title; places with the same are one track.
    """
    known = {
        name: meaning for name, meaning in (details or {}).items() if rows[name].null_count() < rows.height
    }
    tracks = where.select(TRACK).unique(maintain_order=True).with_row_index("track")
    ordered = _ordered(rows, where.join(tracks, on=TRACK).drop(TRACK))
    slices = ordered.select(
        "track",
        *_BASE,
        *([_CALL] if _CALL in rows.columns else []),
        *_exact(ordered, known),
        count=pl.lit(1, pl.UInt32),
        busy_ns=pl.col("end_ns") - pl.col("start_ns"),
        depth=lines(ordered),
    )
    return Layer(kind, tracks.select(TRACK), slices, known)


def _ordered(rows: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """The rows in the order of their tracks and starts; of those that start together the longest comes first."""
    by = [name for name in numbers.columns if name != "track"]
    if numbers.height > 1:
        placed = rows.join(numbers, on=by, how="left", nulls_equal=True, maintain_order="left")
    else:
        placed = rows.with_columns(track=pl.lit(0, pl.UInt32))
    falling = [False, False, True]
    return placed.sort(["track", "start_ns", "end_ns"], descending=falling, maintain_order=True)


def _exact(slices: pl.DataFrame, names: Iterable[str]) -> list[pl.Expr]:
    """The columns; ids that are too large for a page's script to hold exactly become texts."""
    return [pl.col(name).cast(pl.String) if _is_large(slices[name]) else pl.col(name) for name in names]


def _is_large(values: pl.Series) -> bool:
    return values.dtype.is_integer() and int(values.max() or 0) > _EXACT  # type: ignore[arg-type]
