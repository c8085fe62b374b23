"""A Trace as a Perfetto trace (.pftrace) with the tracks, categories and annotations of rocprofv3 7: calls and
ranges on threads, kernels on queues, copies on streams, sensors as counters. Times are kept as they were
recorded: slices that overlap on a track move to a second track of the same name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

import polars as pl

from rocm_perf.errors import UsageError
from rocm_perf.files import write_whole
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.perfetto_slices import PLAIN, slices_of

_ROWS_AT_ONCE = 20_000
_NAMES_AT_ONCE = 1000
_SERVICE, _EVENTS = 1, 2  # sequence ids: the tracer's own packets, and what was traced
_STATE_CLEARED, _NEEDS_STATE = 1, 2  # TracePacket.sequence_flags
_BEGIN, _END, _COUNTER = 1, 2, 4  # TrackEvent.Type
_BOOT, _REAL = 6, 1  # BuiltinClock


def write(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """Write the first pass of every process of one machine, and the sensors."""
    slices = slices_of(trace)
    readings = trace.table("samples").drop_nulls(["time_ns", "value"])
    nodes = {
        node
        for table in ("dispatches", "api_calls", "copies", "ranges", "samples")
        for node in trace.table(table)["node"].unique()
    }
    if len(nodes) > 1:
        raise UsageError(
            "a Perfetto trace has one clock",
            f"this run has {len(nodes)} machines, whose times cannot be compared",
        )
    first: Any = pl.concat([slices["start_ns"], readings["time_ns"]]).min() or 0
    if first < 0:
        raise UsageError("a Perfetto trace has no times before zero", f"this run begins at {first} ns")
    write_whole(path, lambda draft: _Writer(trace, first).write(draft, slices, readings), overwrite=overwrite)


def _uuid(*key: object) -> int:
    """An id that is the same for the same track, and never 0."""
    digest = hashlib.blake2b("\0".join(map(str, key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") | 1


@cache
def _messages() -> Any:
    """Perfetto's generated messages, which take a while to import."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    return perfetto_trace_pb2


@dataclass
class _Prototype:
    """The two packets of a slice with its annotations: a row only sets values, which is fast."""

    begin: Any
    end: Any
    notes: dict[str, list[tuple[Any, int]]] = field(
        default_factory=dict
    )  # kind of value -> annotation, position in the row
    flows: bool = False


class _Writer:
    """Writes one trace."""

    def __init__(self, trace: Trace, first_ns: int) -> None:
        self._trace = trace
        self._first_ns = first_ns
        self._packets = _messages()

    def write(self, draft: Path, slices: pl.DataFrame, readings: pl.DataFrame) -> None:
        with open(draft, "wb") as out:
            self._put(out, self._head())
            self._put(out, self._processes(slices))
            tracks = self._tracks(slices)
            self._put(out, tracks.values())
            self._write_slices(
                out, slices, {key: packet.track_descriptor.uuid for key, packet in tracks.items()}
            )
            self._put(out, self._readings(readings))

    def _put(self, out: IO[bytes], packets: Any) -> None:
        for packet in packets:
            out.write(_framed(packet.SerializeToString()))

    def _packet(self, **fields: Any) -> Any:
        return self._packets.TracePacket(trusted_packet_sequence_id=_EVENTS, **fields)

    def _head(self) -> Iterator[Any]:
        """The clock, the system, and the start of a sequence with nothing interned yet."""
        clock = self._packets.TracePacket(trusted_packet_sequence_id=_SERVICE)
        clock.clock_snapshot.primary_trace_clock = _BOOT
        for number in (_BOOT, _REAL) if self._trace.run.clock == "epoch" else (_BOOT,):
            clock.clock_snapshot.clocks.add(clock_id=number, timestamp=self._first_ns)
        yield clock
        system = self._trace.table("nodes")["os"].drop_nulls()
        if len(system):
            host = self._packets.TracePacket(trusted_packet_sequence_id=_SERVICE)
            name, _, release = system[0].partition(" ")
            host.system_info.utsname.sysname, host.system_info.utsname.release = name, release
            yield host
        yield self._packet(sequence_flags=_STATE_CLEARED, first_packet_on_sequence=True)

    def _processes(self, slices: pl.DataFrame) -> Iterator[Any]:
        commands = dict(self._trace.table("processes").select("pid", "command").iter_rows())
        for pid in sorted({*commands, *slices["pid"].unique()} - {None}):
            packet = self._packet()
            packet.track_descriptor.uuid = _uuid("process", pid)
            _describe(packet.track_descriptor.process, f"PROCESS {pid}", packet.track_descriptor, pid=pid)
            if commands.get(pid):
                packet.track_descriptor.process.cmdline.extend(commands[pid].split(" "))
                packet.track_descriptor.process.process_name = commands[pid].split(" ")[0]
            yield packet

    def _tracks(self, slices: pl.DataFrame) -> dict[tuple[int, int], Any]:
        """A description of each track and lane."""
        tracks = {}
        for number, lane, pid, name, tid in (
            slices.select("number", "lane", "pid", "track", "track_tid")
            .unique(["number", "lane"])
            .sort("number", "lane")
            .iter_rows()
        ):
            packet = self._packet()
            descriptor = packet.track_descriptor
            descriptor.uuid = _uuid("track", pid, name, lane)
            if pid is not None:
                descriptor.parent_uuid = _uuid("process", pid)
            if tid is None or pid is None or lane:
                descriptor.name = name
            else:
                _describe(descriptor.thread, name, descriptor, pid=pid, tid=tid)
            tracks[number, lane] = packet
        return tracks

    def _write_slices(self, out: IO[bytes], slices: pl.DataFrame, uuids: dict[tuple[int, int], int]) -> None:
        notes = slices.columns[len(PLAIN) : -2]
        names, categories = (slices[column].unique(maintain_order=True) for column in ("name", "category"))
        self._put(out, self._interned(names, categories, notes))
        slices = slices.with_columns(self._flow())
        present = [pl.col(note).is_not_null().cast(pl.UInt8) for note in ("flow", *notes)]
        shapes = slices.select(pl.concat_str(pl.col("category"), *present).alias("shape"))
        firsts = shapes.with_row_index("row").unique("shape", keep="first", maintain_order=True)
        prototypes = [
            self._prototype(slices.row(row, named=True), categories, notes, slices) for row in firsts["row"]
        ]
        rows = slices.select(
            shapes["shape"].replace_strict(
                firsts["shape"], list(range(firsts.height)), return_dtype=pl.Int64
            ),
            pl.col("name").replace_strict(names, list(range(1, len(names) + 1)), return_dtype=pl.Int64),
            _track_uuids(slices, uuids),
            "flow",
            *notes,
        )
        for piece in rows.iter_slices(_ROWS_AT_ONCE):
            out.write(b"".join(_framed(data) for data in _encoded(piece, prototypes)))

    def _flow(self) -> pl.Expr:
        """Perfetto's number for a flow within a process; slices with the same one are joined by an arrow."""
        pids = [
            pid
            for table in ("dispatches", "api_calls", "copies", "ranges")
            for pid in self._trace.table(table)["pid"].drop_nulls().unique()
        ]
        process = pl.col("pid").replace_strict(
            {pid: _uuid("process", pid) for pid in pids}, default=None, return_dtype=pl.UInt64
        )
        return (process ^ pl.col("corr_id").cast(pl.UInt64, strict=False)).alias("flow")

    def _interned(self, names: pl.Series, categories: pl.Series, notes: list[str]) -> Iterator[Any]:
        packet = self._packet(sequence_flags=_NEEDS_STATE)
        for number, category in enumerate(categories, start=1):
            packet.interned_data.event_categories.add(iid=number, name=category)
        for number, note in enumerate(notes, start=1):
            packet.interned_data.debug_annotation_names.add(
                iid=number, name="end_ns" if note == "ended_ns" else note
            )
        yield packet
        for first in range(0, len(names), _NAMES_AT_ONCE):
            packet = self._packet(sequence_flags=_NEEDS_STATE)
            for number, name in enumerate(names[first : first + _NAMES_AT_ONCE], start=first + 1):
                packet.interned_data.event_names.add(iid=number, name=name)
            yield packet

    def _prototype(
        self, row: dict[str, Any], categories: pl.Series, notes: list[str], slices: pl.DataFrame
    ) -> _Prototype:
        begin, end = (self._packet(sequence_flags=_NEEDS_STATE, timestamp_clock_id=_BOOT) for _ in range(2))
        begin.track_event.type, end.track_event.type = _BEGIN, _END
        begin.track_event.category_iids.append(categories.to_list().index(row["category"]) + 1)
        prototype = _Prototype(begin, end, flows=row["flow"] is not None)
        if prototype.flows:
            begin.track_event.flow_ids.append(0)
        for place, note in enumerate(notes):
            if row[note] is not None:
                added = begin.track_event.debug_annotations.add(name_iid=place + 1)
                prototype.notes.setdefault(_value_field(slices[note]), []).append((added, 4 + place))
        return prototype

    def _readings(self, readings: pl.DataFrame) -> Iterator[Any]:
        """One counter track per sensor, named after the agent and the metric."""
        for track in readings.partition_by("agent_id", "metric", "unit", maintain_order=True):
            agent, metric, unit = track.select("agent_id", "metric", "unit").row(0)
            packet = self._packet()
            descriptor = packet.track_descriptor
            descriptor.uuid = _uuid("counter", agent, metric, unit)
            descriptor.name = metric if agent is None else f"AGENT [{agent}] PMC {metric}"
            descriptor.counter.unit_name = unit or ""
            yield packet
            reading = self._packet(sequence_flags=_NEEDS_STATE, timestamp_clock_id=_BOOT)
            reading.track_event.type, reading.track_event.track_uuid = _COUNTER, descriptor.uuid
            for time, value in track.select("time_ns", "value").iter_rows():
                reading.timestamp, reading.track_event.double_counter_value = time, value
                yield reading


def _track_uuids(slices: pl.DataFrame, uuids: dict[tuple[int, int], int]) -> pl.Series:
    by_track = pl.DataFrame(
        [(*key, uuid) for key, uuid in uuids.items()],
        schema={"number": pl.UInt32, "lane": pl.Int64, "uuid": pl.UInt64},
        orient="row",
    )
    return slices.select("number", "lane").join(
        by_track, on=["number", "lane"], how="left", maintain_order="left"
    )["uuid"]


def _describe(message: Any, name: str, descriptor: Any, **ids: int) -> None:
    """Describe a process or thread. Its ids have 32 bits; a track with larger ones gets only a name."""
    if all(0 <= number < 2**31 for number in ids.values()):
        for key, number in ids.items():
            setattr(message, key, number)
    else:
        descriptor.name = name


def _value_field(values: pl.Series) -> str:
    if values.dtype == pl.String:
        return "string_value"
    if values.dtype == pl.Float64:
        return "double_value"
    return "int_value" if int(values.min() or 0) < 0 else "uint_value"  # type: ignore[arg-type]


def _encoded(rows: pl.DataFrame, prototypes: list[_Prototype]) -> Iterator[bytes]:
    """The begin and the end of each row. `rows` holds shape, name, uuid and flow, then the annotations, the first two
    being the times."""
    for row in rows.iter_rows():
        prototype = prototypes[row[0]]
        event = prototype.begin.track_event
        prototype.begin.timestamp, event.name_iid, event.track_uuid = row[4], row[1], row[2]
        if prototype.flows:
            event.flow_ids[0] = row[3]
        for kind, notes in prototype.notes.items():
            if kind == "uint_value":
                for note, place in notes:
                    note.uint_value = row[place]
            else:
                for note, place in notes:
                    setattr(note, kind, row[place])
        yield prototype.begin.SerializeToString()
        prototype.end.timestamp, prototype.end.track_event.track_uuid = max(row[4], row[5]), row[2]
        yield prototype.end.SerializeToString()


def _framed(data: bytes) -> bytes:
    """A packet as an element of Trace.packet: tag, length, content."""
    return _prefix(len(data)) + data


@cache
def _prefix(size: int) -> bytes:
    digits = bytearray(b"\x0a")
    while size > 0x7F:
        digits.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*digits, size])
