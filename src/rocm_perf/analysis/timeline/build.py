"""Puts the timeline of a recording together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.passes import timed_pass
from rocm_perf.analysis.graph.build import domains
from rocm_perf.analysis.phases.focus import focused, judged_span
from rocm_perf.analysis.time.steps import steps
from rocm_perf.analysis.timeline import gpu, host, overall
from rocm_perf.analysis.timeline.counters import counters
from rocm_perf.analysis.timeline.interned import Interned
from rocm_perf.analysis.timeline.layer import TRACK, Layer
from rocm_perf.analysis.timeline.places import Places, places
from rocm_perf.analysis.timeline.sample import shown_part
from rocm_perf.analysis.timeline.thinning import MOST_SLICES, thinned, without_long_texts
from rocm_perf.model.document import Document
from rocm_perf.model.results.timeline import FLOW, READING, SLICE, Timeline, Track, TrackKind
from rocm_perf.model.trace import Trace

# Within a group, from top to bottom.
_ORDER: tuple[TrackKind, ...] = ("phases", "path", "gaps", "queue", "copies", "counter", "ranges", "thread")
_SEVERAL_CLOCKS = "Machines have clocks of their own: each begins here with its own first event."


def timeline(trace: Trace, document: Document, *, most_slices: int = MOST_SLICES) -> Timeline | None:
    """The whole recording over time, with what the document says about it; None where nothing in it has a time."""
    trace, document, notes = shown_part(trace, document)
    where = places(trace)
    if where is None:
        return None
    bounds = _bounds(trace, where) if document.steady else None
    layers, merged = thinned(_layers(trace, document, where), bounds, most_slices)
    layers, dropped = without_long_texts(layers)
    readings = counters(trace, where)
    interned = Interned(layers)
    return Timeline(
        begin_ns=where.begin_ns,
        length_ns=where.length_ns,
        names=interned.names,
        labels=interned.labels,
        tracks=_tracks(layers, readings),
        slices=pl.concat([pl.DataFrame(schema=SLICE), *(interned.slices(layer) for layer in layers)]),
        details=tuple(
            detail for layer, first in _placed(layers) for detail in interned.details(layer, first)
        ),
        readings=readings.select(*READING),
        flows=_flows(layers),
        steps=_steps(trace, where),
        judged=bounds,
        thinned=" ".join(filter(None, (merged, dropped))) or None,
        notes=(*notes, *((_SEVERAL_CLOCKS,) if where.clocks["origin_ns"].n_unique() > 1 else ())),
    )


def _layers(trace: Trace, document: Document, where: Places) -> list[Layer]:
    """The layers that have slices."""
    judged = focused(trace) if document.steady else trace
    on_path = overall.rows_on_path(trace, judged)
    layers = [
        overall.phases(document),
        overall.path(judged, offset_ns(judged, where)),
        gpu.kernels(trace, where, on_path.dispatches),
        gpu.copies(trace, where, on_path.copies),
        gpu.gaps(judged, where),
        host.shadows(trace, where),
        host.ranges(trace, where),
        host.threads(trace, where, on_path.api_calls, on_path.ops),
    ]
    return [layer for layer in layers if layer.slices.height]


def _bounds(trace: Trace, where: Places) -> tuple[int, int] | None:
    span = judged_span(trace)
    if span is None or span.start_ns is None or span.end_ns is None:
        return None
    return span.start_ns - where.begin_ns, span.end_ns - where.begin_ns


def offset_ns(judged: Trace, where: Places) -> int:
    """When the first span of the judged part starts. A recording of several clocks is judged as a whole."""
    starts = domains(judged, timed_pass(judged))["origin_ns"]
    return int(starts[0]) - where.begin_ns if starts.len() == 1 else 0


def _steps(trace: Trace, where: Places) -> pl.Series:
    """Where each step of the whole recording begins: the host may be done with those of the judged part before it."""
    starts = [step.start_ns - where.begin_ns for step in steps(trace).steps]
    return pl.Series(sorted(starts), dtype=pl.Int64)


def _placed(layers: Sequence[Layer]) -> Iterator[tuple[Layer, int]]:
    """Each layer with the row at which its slices begin."""
    first = 0
    for layer in layers:
        yield layer, first
        first += layer.slices.height


def _tracks(layers: Sequence[Layer], readings: pl.DataFrame) -> tuple[Track, ...]:
    """The tracks group by group: the recording, GPUs, processes."""
    drawn = [track for layer, first in _placed(layers) for track in _of_layer(layer, first)]
    read = [
        Track(kind="counter", group=group, title=title, unit=unit, first=first, length=length)
        for group, title, unit, first, length in _runs(readings, (*TRACK, "unit"))
    ]
    host_kinds = ("ranges", "thread")
    tracks = [
        *(track for track in drawn if track.kind not in host_kinds),
        *read,
        *(track for track in drawn if track.kind in host_kinds),
    ]
    groups = {group: place for place, group in enumerate(dict.fromkeys(track.group for track in tracks))}
    return tuple(sorted(tracks, key=lambda track: (groups[track.group], _ORDER.index(track.kind))))


def _of_layer(layer: Layer, offset: int) -> Iterator[Track]:
    titles = list(layer.tracks.iter_rows())
    for track, first, length in _runs(layer.slices, ("track",)):
        group, title = titles[track]
        yield Track(kind=layer.kind, group=group, title=title, first=offset + first, length=length)


def _runs(rows: pl.DataFrame, by: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Neighbouring rows that are equal in `by`, each with its first row and its length."""
    runs = rows.select(pl.struct(by).rle().alias("run")).unnest("run")
    first = pl.col("len").cum_sum() - pl.col("len")
    yield from runs.select(pl.col("value").struct.unnest(), first.alias("first"), "len").iter_rows()


def _flows(layers: Sequence[Layer]) -> pl.DataFrame:
    """From each call to what it launched, where both are slices of their own."""
    causes: list[pl.DataFrame] = []
    effects: list[pl.DataFrame] = []
    for layer, first in _placed(layers):
        if "call_row" in layer.slices.columns:
            rows = layer.slices.select(
                "call_row", row=pl.int_range(pl.len(), dtype=pl.UInt32) + first
            ).drop_nulls()
            (causes if layer.kind == "thread" else effects).append(rows)
    if not causes or not effects:
        return pl.DataFrame(schema=FLOW)
    launched = pl.concat(effects).rename({"row": "effect"})
    flows = launched.join(pl.concat(causes).rename({"row": "cause"}), on="call_row", maintain_order="left")
    return pl.DataFrame(flows.select(*FLOW))
