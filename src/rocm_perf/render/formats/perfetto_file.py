"""The bytes of a Perfetto trace: tracks and names, then slices and readings."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import polars as pl

from rocm_perf.render.formats.perfetto_contents import Contents
from rocm_perf.render.formats.perfetto_events import Note, SlicePackets, reading_packets
from rocm_perf.render.formats.perfetto_tracks import TrackDescriptors, framed, head, interned


class Encoded:
    """The bytes of a Perfetto trace: `head`, before all events; `slices`, two packets for each; `readings`, one for
    each; some thousands at once, in the order of the contents."""

    def __init__(self, shown: Contents) -> None:
        tracks = TrackDescriptors(shown.trace)
        slices = shown.slices.with_columns(_slice_tracks(shown, tracks))
        readings = shown.readings.with_columns(_counter_tracks(shown, tracks))
        names, categories = (_distinct(shown.slices, [column]) for column in ("name", "category"))
        texts_in = [note for note in shown.notes if shown.slices[note].dtype == pl.String]
        texts = _distinct(shown.slices, texts_in)
        self.head = framed(
            chain(
                head(shown.trace, shown.first_ns),
                tracks.packets,
                interned("event_names", names),
                interned("event_categories", categories),
                interned("debug_annotation_names", shown.notes),
                interned("debug_annotation_string_values", texts),
            )
        )
        numbered = slices.with_columns(
            _numbered(["name"], names), _numbered(["category"], categories), _numbered(texts_in, texts)
        )
        notes = [Note(note, iid, note in texts_in) for iid, note in enumerate(shown.notes, start=1)]
        self.slices: Iterable[list[bytes]] = SlicePackets(numbered, notes)
        self.readings: Iterable[list[bytes]] = reading_packets(readings)

    def write(self, draft: Path) -> None:
        """Write all of it into a file."""
        with open(draft, "wb") as out:
            out.write(self.head)
            for packets in chain(self.slices, self.readings):
                out.write(b"".join(packets))


def _distinct(frame: pl.DataFrame, columns: list[str]) -> pl.Series:
    """The texts in some columns, once each."""
    texts = [pl.Series("text", [], pl.String)]
    texts += [frame[column].drop_nulls().unique(maintain_order=True).alias("text") for column in columns]
    return pl.concat(texts).unique(maintain_order=True)


def _numbered(columns: list[str], texts: pl.Series) -> pl.Expr:
    """Columns of texts as their numbers, from 1."""
    numbers = pl.int_range(1, texts.len() + 1, dtype=pl.UInt32, eager=True)
    return pl.col(columns).replace_strict(texts, numbers, return_dtype=pl.UInt32)


def _slice_tracks(shown: Contents, descriptors: TrackDescriptors) -> pl.Series:
    """The number of the track of each slice; only tracks with slices are described."""
    used = shown.slices.select("track", "lane").unique().sort("track", "lane")
    places = shown.tracks.with_row_index("track").join(used, on="track", maintain_order="right")
    uuids = [
        descriptors.derived(row["name"], row["lane"])
        if row["derived"]
        else descriptors.slices(
            pid=row["pid"], tid=row["tid"], agent=row["agent_id"], name=row["name"], lane=row["lane"]
        )
        for row in places.iter_rows(named=True)
    ]
    numbers = used.with_columns(pl.Series("uuid", uuids, pl.UInt64))
    return shown.slices.join(numbers, on=["track", "lane"], how="left", maintain_order="left")["uuid"]


def _counter_tracks(shown: Contents, descriptors: TrackDescriptors) -> pl.Series:
    """The number of the track of each reading."""
    used = shown.readings["counter"].unique().sort()
    rows = shown.counters[used].iter_rows(named=True)
    uuids = [
        descriptors.counter(agent=row["agent_id"], name=row["name"], unit=row["unit"], derived=row["derived"])
        for row in rows
    ]
    numbers: pl.Series = shown.readings["counter"].replace_strict(used, uuids, return_dtype=pl.UInt64)
    return numbers.alias("uuid")
