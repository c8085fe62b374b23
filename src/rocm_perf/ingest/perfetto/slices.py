"""Track events of a Perfetto trace, gathered into columns: slices, counter readings and tracks.

A slice is a begin and the next end on its track, in the order of the file. rocprofv3 writes the end into
the begin as well, and only that separates kernels that overlap on a track.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence as Values
from typing import Any

import msgspec
import polars as pl

from rocm_perf.ingest.perfetto.packets import Clocks, Packets, Sequence, text

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type
_ROWS_AT_ONCE = 1 << 16
_DIGITS = re.compile(r"\d{1,18}")
_LONGEST_NOTE = 100  # characters of a size or an agent

# Debug annotations that are kept, under the names they have had.
_INTEGERS = {
    "begin_ns": "begin_ns",
    "end_ns": "end_ns",
    "tid": "tid",
    "corr_id": "correlation_id",
    "queue": "queue_id",
    "stream_ID": "stream_id",
    "stream_id": "stream_id",
    "dispatch_id": "dispatch_id",
    "private_segment_size": "scratch_bytes",
    "Scratch_Size": "scratch_bytes",
    "group_segment_size": "lds_bytes",
    "LDS_Block_Size": "lds_bytes",
    "VGPR_Count": "vgprs",
    "Accum_VGPR_Count": "agprs",
    "SGPR_Count": "sgprs",
    "copy_bytes": "size_bytes",
    "agent": "agent_id",
    "src_agent": "src_agent",
    "dst_agent": "dst_agent",
}
_SIZES = {"workgroup_size": "workgroup_x", "grid_size": "grid_x"}
_SLICE_SCHEMA = {
    "name": pl.String,
    "category": pl.String,
    "begin_ns": pl.Int64,
    "end_ns": pl.Int64,
    "track": pl.UInt64,
    **{column: pl.Int64 for column in _INTEGERS.values() if not column.endswith("_ns")},
    **dict.fromkeys((f"{size}_{axis}" for size in ("workgroup", "grid") for axis in "xyz"), pl.Int64),
}
_COLUMNS = {name: place for place, name in enumerate(_SLICE_SCHEMA)}
_PLACES = {note: _COLUMNS[column] for note, column in (_INTEGERS | _SIZES).items()}
_BEGIN_NS, _END_NS, _TRACK = _COLUMNS["begin_ns"], _COLUMNS["end_ns"], _COLUMNS["track"]
_DISPATCH, _AGENT = _COLUMNS["dispatch_id"], _COLUMNS["agent_id"]
_SIZE_PLACES = tuple(_COLUMNS[column] for column in _SIZES.values())
_NOTHING_KNOWN = [None] * (len(_COLUMNS) - _TRACK - 1)

Row = list[Any]


class Columns:
    """Rows that are turned into a frame every few thousand, so only columns stay in memory."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._rows: list[tuple[Any, ...] | Row] = []
        self._frames: list[pl.DataFrame] = []

    def append(self, row: tuple[Any, ...] | Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def frame(self) -> pl.DataFrame:
        self._flush()
        return pl.concat(self._frames)

    def _flush(self) -> None:
        values = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        columns = zip(self._schema.items(), values, strict=True)
        self._frames.append(pl.DataFrame([_series(name, dtype, values) for (name, dtype), values in columns]))
        self._rows = []


def _series(name: str, dtype: Any, values: Values[Any]) -> pl.Series:
    """A column; a number that does not fit its type is null. Each text is in memory once, however many rows name it."""
    if dtype != pl.String:
        return pl.Series(name, values, dtype, strict=False)
    places = {text: place for place, text in enumerate(dict.fromkeys(values))}
    return pl.Series(name, list(places), dtype).gather([places[text] for text in values])


class Track(msgspec.Struct):
    """What the trace says about a track."""

    name: str = ""
    parent: int = 0
    pid: int | None = None
    tid: int | None = None
    unit: str = ""
    multiplier: int = 1
    incremental: bool = False
    command: str | None = None


class Recording(msgspec.Struct):
    """Everything in a trace that fills tables."""

    slices: Columns = msgspec.field(default_factory=lambda: Columns(_SLICE_SCHEMA))
    readings: Columns = msgspec.field(
        default_factory=lambda: Columns({"time_ns": pl.Int64, "track": pl.UInt64, "value": pl.Float64})
    )
    counters: Columns = msgspec.field(
        default_factory=lambda: Columns(
            {
                "dispatch_id": pl.Int64,
                "agent_id": pl.Int64,
                "track": pl.UInt64,
                "counter": pl.String,
                "value": pl.Float64,
            }
        )
    )
    tracks: dict[int, Track] = msgspec.field(default_factory=lambda: defaultdict(Track))
    lost: Counter[str] = msgspec.field(default_factory=Counter)
    os: str | None = None
    _open: dict[int, list[Row | None]] = msgspec.field(default_factory=lambda: defaultdict(list))
    _kernels: int = 0

    def gather(self, packets: Packets) -> None:
        clocks, sequences, stranger = Clocks(), defaultdict[int, Sequence](Sequence), Sequence()
        for packet in packets:
            sequence = sequences.get(packet.trusted_packet_sequence_id, stranger)
            if sequence is stranger and Sequence.is_taught_by(packet):
                sequence = sequences[packet.trusted_packet_sequence_id]
            try:
                sequence.learn(packet)
                self._take(packet, sequence, clocks)
            except UnicodeDecodeError:  # some protobuf versions raise where others return bytes
                self.lost["packets whose text is not UTF-8"] += 1
        if packets.undecoded:
            self.lost["packets that cannot be decoded"] += packets.undecoded
        unfinished = sum(begin is not None for stack in self._open.values() for begin in stack)
        if unfinished:
            self.lost["slices without an end"] += unfinished

    def _take(self, packet: Any, sequence: Sequence, clocks: Clocks) -> None:
        kind = packet.WhichOneof("data")
        if kind == "clock_snapshot":
            clocks.learn(packet.clock_snapshot, sequence)
            return
        time = clocks.boot_time(packet, sequence) if packet.HasField("timestamp") else None
        if kind == "track_event":
            self._event(packet.track_event, time, sequence)
        elif kind == "track_descriptor":
            self._describe(packet.track_descriptor)
        elif kind == "trace_stats":
            self._dropped(packet.trace_stats)
        elif kind == "system_info":
            system = packet.system_info.utsname
            self.os = f"{text(system.sysname)} {text(system.release)}".strip() or None

    def _event(self, event: Any, time: int | None, sequence: Sequence) -> None:
        track = event.track_uuid or sequence.default_track
        if time is None:
            self.lost["events on a clock that the trace does not define"] += 1
        elif event.type == _BEGIN:
            self._begin(event, time, track, sequence)
        elif event.type == _END:
            self._end(event, time, track, sequence)
        elif event.type == _COUNTER:
            integral = event.WhichOneof("counter_value_field") == "counter_value"
            value = event.counter_value if integral else event.double_counter_value
            self.readings.append((time, track, float(value)))
        elif event.type == _INSTANT:
            row = self._slice(event, time, track, sequence)
            row[_END_NS] = row[_BEGIN_NS]
            self.slices.append(row)
        else:
            self.lost["events of a type that is not read"] += 1

    def _begin(self, event: Any, time: int, track: int, sequence: Sequence) -> None:
        row = self._slice(event, time, track, sequence)
        ended = row[_END_NS] is not None
        if ended:
            self.slices.append(row)
        self._open[track].append(None if ended else row)

    def _end(self, event: Any, time: int, track: int, sequence: Sequence) -> None:
        stack = self._open.get(track)
        if not stack:
            self.lost["ends of slices that did not begin"] += 1
            return
        row = stack.pop()
        if row is not None:
            row[_END_NS] = time
            _annotate(row, event, sequence)
            self.slices.append(row)

    def _slice(self, event: Any, time: int, track: int, sequence: Sequence) -> Row:
        name = sequence.names.get(event.name_iid) if event.name_iid else text(event.name)
        if event.category_iids:
            category = sequence.categories.get(event.category_iids[0])
        else:
            category = next((text(category_name) for category_name in event.categories), None)
        row = [name or None, category, time, None, track, *_NOTHING_KNOWN]
        counters = _annotate(row, event, sequence)
        if category is not None and is_kernel(category):
            self._kernels += 1
            row[_DISPATCH] = row[_DISPATCH] or self._kernels
            for counter, value in counters:
                self.counters.append((row[_DISPATCH], row[_AGENT], track, counter, value))
        return row

    def _describe(self, descriptor: Any) -> None:
        """Add the description of a track; there may be several, and later ones may say less."""
        track = self.tracks[descriptor.uuid]
        track.name = text(descriptor.name) or track.name
        track.parent = descriptor.parent_uuid or track.parent
        if descriptor.HasField("thread"):
            track.pid, track.tid = descriptor.thread.pid, descriptor.thread.tid
        if descriptor.HasField("process"):
            track.pid = descriptor.process.pid
            track.command = (
                " ".join(text(argument) for argument in descriptor.process.cmdline) or track.command
            )
        if descriptor.HasField("counter"):
            counter = descriptor.counter
            track.unit = text(counter.unit_name) or {1: "ns", 3: "B"}.get(counter.unit, "")
            track.multiplier = counter.unit_multiplier or 1
            track.incremental = counter.is_incremental

    def _dropped(self, stats: Any) -> None:
        dropped = sum(
            buffer.chunks_discarded + buffer.chunks_overwritten + buffer.trace_writer_packet_loss
            for buffer in stats.buffer_stats
        )
        if dropped:
            self.lost["pieces that did not fit into the tracing buffer"] = dropped


def is_kernel(category: str) -> bool:
    return "kernel_dispatch" in category or category == "device_hip"


def _annotate(row: Row, event: Any, sequence: Sequence) -> list[tuple[str, float]]:
    """Fill the columns that the event is annotated with; the other real numbers are counters."""
    counters: list[tuple[str, float]] = []
    note_names = sequence.notes
    for note in event.debug_annotations:
        name = note_names.get(note.name_iid) or text(note.name)
        place = _PLACES.get(name)
        kind = note.WhichOneof("value")
        if place is None:
            if kind == "double_value":
                counters.append((name, note.double_value))
        elif kind == "uint_value":
            row[place] = note.uint_value
        elif kind == "int_value":
            row[place] = note.int_value
        else:
            _annotate_text(row, place, _text(note, kind, sequence))
    for place in _SIZE_PLACES:
        # rocprofv3 writes only the product of the sizes; it goes into x, which keeps totals right
        if row[place] is not None and row[place + 1] is None:
            row[place + 1 : place + 3] = (1, 1)
    return counters


def _annotate_text(row: Row, place: int, value: str) -> None:
    """Fill in a size like `(256,1,1)` or an agent like `Agent-4`."""
    numbers = [int(digits) for digits in _DIGITS.findall(value[:_LONGEST_NOTE])]
    if place in _SIZE_PLACES:
        row[place : place + 3] = (numbers + [None] * 3)[:3]
    elif numbers:
        row[place] = numbers[-1]


def _text(note: Any, kind: str | None, sequence: Sequence) -> str:
    if kind == "string_value":
        return text(note.string_value)
    return sequence.strings.get(note.string_value_iid, "") if kind == "string_value_iid" else ""
