"""A Perfetto trace as a stream of packets: the file is walked packet by packet, which keeps memory small and reads a
truncated file as far as it goes. Clocks, interned names and tracks are resolved here."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from rocm_perf.ingest.io.source import Source
from rocm_perf.units import format_bytes

MAX_PACKET_BYTES = 64 << 20
# What compressed packets hold; Perfetto's expand 5 to 10 times, and each packet costs microseconds, an empty one too.
_MOST_EXPANSION, _EXPANSION_FREE_BYTES = 50, 8 << 20
_PACKET_TAG = 0x0A  # field 1, length-delimited
_ZEROS = re.compile(rb"\0+")
_BOOT_CLOCK = 6
_SEQUENCE_CLOCKS = range(64, 128)  # ids that one writer defines for itself
_STATE_CLEARED = 1


@cache
def messages() -> Any:
    """Perfetto's generated messages, imported on first use because that takes a while."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    return perfetto_trace_pb2


def text(value: str | bytes) -> str:
    """A string of a message; protobuf returns bytes if it is not UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


class NotAPacketError(Exception):
    """The bytes at this position are not a packet."""


def split(buffer: bytes, position: int) -> tuple[int, int] | None:
    """Where the packet at `position` begins and ends; None if the buffer ends first."""
    size, shift, place = 0, 0, position + 1
    if position < len(buffer) and buffer[position] != _PACKET_TAG:
        raise NotAPacketError
    while place < len(buffer) and shift < 35:
        byte = buffer[place]
        size |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            if size > MAX_PACKET_BYTES:
                raise NotAPacketError
            return (place, place + size) if place + size <= len(buffer) else None
    if shift >= 35:
        raise NotAPacketError
    return None


class Packets:
    """Iterates over the packets of a source; afterwards `damage` says why not all could be read."""

    def __init__(self, source: Source) -> None:
        self.damage: str | None = None
        self.undecoded = 0
        self._source = source
        self._read = 0
        self._expanded = 0

    @property
    def size_bytes(self) -> int:
        """How much was read, before compressed packets expand."""
        return self._read

    def __iter__(self) -> Iterator[Any]:
        with self._source.reader() as reader:
            for packet in self._decoded(self._walk(reader)):
                if packet.compressed_packets:
                    yield from self._decoded(self._inflated(packet.compressed_packets))
                else:
                    yield packet
            self.damage = reader.damage or self.damage

    def _walk(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        buffer, position = b"", 0
        for chunk in chunks:
            buffer, position = buffer[position:] + chunk, 0
            self._read += len(chunk)
            try:
                while True:
                    position = _behind_padding(buffer, position)
                    bounds = split(buffer, position)
                    if bounds is None:
                        break
                    yield buffer[bounds[0] : bounds[1]]
                    position = bounds[1]
            except NotAPacketError:
                self.damage = f"what follows byte {self._read - len(buffer) + position:,} is not a packet"
                return
        if position < len(buffer):
            self.damage = (
                f"the last packet breaks off ({format_bytes(len(buffer) - position)} of it are present)"
            )

    def _decoded(self, packets: Iterable[bytes]) -> Iterator[Any]:
        from google.protobuf.message import DecodeError

        parse = messages().TracePacket.FromString
        for data in packets:
            try:
                packet = parse(data)
            except DecodeError:
                self.undecoded += 1
                continue
            yield packet

    def _inflated(self, data: bytes) -> Iterator[bytes]:
        """The packets that were compressed into one."""
        try:
            plain = zlib.decompressobj().decompress(data, MAX_PACKET_BYTES)
        except zlib.error:
            self.undecoded += 1
            return
        self._expanded += len(plain)
        if self._expanded > _EXPANSION_FREE_BYTES + _MOST_EXPANSION * self._read:
            self.damage = f"its compressed packets expand more than {_MOST_EXPANSION} times and were left out"
            return
        position = 0
        with suppress(NotAPacketError):
            while bounds := split(plain, position):
                yield plain[bounds[0] : bounds[1]]
                position = bounds[1]


def _behind_padding(buffer: bytes, position: int) -> int:
    """The position after padding: some writers (omnitrace) leave zero bytes between packets."""
    padding = _ZEROS.match(buffer, position)
    return padding.end() if padding else position


class _Clock(msgspec.Struct):
    """A clock of one sequence: its last reading, and its offset to the boot clock."""

    last: int
    unit: int
    incremental: bool
    behind: int

    def boot_time(self, reading: int) -> int:
        value = reading * self.unit
        if self.incremental:
            value += self.last
            self.last = value
        return value + self.behind


class Sequence(msgspec.Struct):
    """The names that one writer defines once and then refers to by number."""

    names: dict[int, str] = msgspec.field(default_factory=dict)
    categories: dict[int, str] = msgspec.field(default_factory=dict)
    notes: dict[int, str] = msgspec.field(default_factory=dict)
    strings: dict[int, str] = msgspec.field(default_factory=dict)
    clocks: dict[int, _Clock] = msgspec.field(default_factory=dict)
    default_clock: int = 0
    default_track: int = 0

    @staticmethod
    def is_taught_by(packet: Any) -> bool:
        """Whether the packet says something that later ones of its writer refer to."""
        return any(
            packet.HasField(name) for name in ("interned_data", "trace_packet_defaults", "clock_snapshot")
        )

    def learn(self, packet: Any) -> None:
        if packet.sequence_flags & _STATE_CLEARED:
            for table in (self.names, self.categories, self.notes, self.strings):
                table.clear()
        if packet.HasField("trace_packet_defaults"):
            self.default_clock = packet.trace_packet_defaults.timestamp_clock_id
            self.default_track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("interned_data"):
            data = packet.interned_data
            self.names.update((entry.iid, text(entry.name)) for entry in data.event_names)
            self.categories.update((entry.iid, text(entry.name)) for entry in data.event_categories)
            self.notes.update((entry.iid, text(entry.name)) for entry in data.debug_annotation_names)
            self.strings.update(
                (entry.iid, entry.str.decode("utf-8", "replace"))
                for entry in data.debug_annotation_string_values
            )

    def set_clocks(self, snapshot: Any, boot: int) -> None:
        for clock in snapshot.clocks:
            if clock.clock_id in _SEQUENCE_CLOCKS:
                unit = clock.unit_multiplier_ns or 1
                now = clock.timestamp * unit
                self.clocks[clock.clock_id] = _Clock(now, unit, clock.is_incremental, boot - now)


class Clocks(msgspec.Struct):
    """Machine-wide clocks, as offsets from the boot clock that the trace runs on."""

    offsets: dict[int, int] = msgspec.field(default_factory=dict)

    def learn(self, snapshot: Any, sequence: Sequence) -> None:
        boot = next((clock.timestamp for clock in snapshot.clocks if clock.clock_id == _BOOT_CLOCK), None)
        if boot is None:
            return
        sequence.set_clocks(snapshot, boot)
        for clock in snapshot.clocks:
            if clock.clock_id not in _SEQUENCE_CLOCKS:
                self.offsets[clock.clock_id] = boot - clock.timestamp

    def boot_time(self, packet: Any, sequence: Sequence) -> int | None:
        """When the packet was written, in ns of the boot clock; None on a clock that nothing defines."""
        number = packet.timestamp_clock_id or sequence.default_clock or _BOOT_CLOCK
        if number == _BOOT_CLOCK:
            return int(packet.timestamp)
        if number in _SEQUENCE_CLOCKS:
            clock = sequence.clocks.get(number)
            return None if clock is None else clock.boot_time(packet.timestamp)
        offset = self.offsets.get(number)
        return None if offset is None else packet.timestamp + offset
