"""XPlane files written and read by hand, apart from the code under test: field by field, as xplane.proto numbers
them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Value = int | float | str | bytes


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(place: int, value: int) -> bytes:
    return varint(place << 3) + varint(value)


def content(place: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(place << 3 | 2) + varint(len(data)) + data


def real(place: int, value: float) -> bytes:
    return varint(place << 3 | 1) + struct.pack("<d", value)


@dataclass
class Event:
    """One event; without a start it is a total of so many."""

    name: str
    start_ps: int = 0
    length_ps: int = 0
    stats: Mapping[str, Value] = field(default_factory=dict)
    occurrences: int = 0


@dataclass
class Line:
    name: str
    number: int
    events: Sequence[Event]
    timestamp_ns: int = 0


@dataclass
class Plane:
    """One plane; `shared` are statistics of all events of a name, `shown` their display names."""

    name: str
    lines: Sequence[Line] = ()
    stats: Mapping[str, Value] = field(default_factory=dict)
    shared: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        kinds = list(
            dict.fromkeys([event.name for line in self.lines for event in line.events] + [*self.shared])
        )
        used = [
            self.stats,
            *self.shared.values(),
            *(event.stats for line in self.lines for event in line.events),
        ]
        names = list(dict.fromkeys(name for stats in used for name in stats))
        lines = b"".join(content(3, _line(line, kinds, names)) for line in self.lines)
        metadata = b"".join(
            content(4, number(1, place) + content(2, self._kind(place, kind, names)))
            for place, kind in enumerate(kinds, 1)
        )
        statistics = b"".join(
            content(5, number(1, place) + content(2, number(1, place) + content(2, name)))
            for place, name in enumerate(names, 1)
        )
        return content(2, self.name) + lines + metadata + statistics + _stats(6, self.stats, names)

    def _kind(self, place: int, kind: str, names: Sequence[str]) -> bytes:
        shown = content(4, self.shown[kind]) if kind in self.shown else b""
        return number(1, place) + content(2, kind) + shown + _stats(5, self.shared.get(kind, {}), names)


def space(*planes: Plane, hosts: Sequence[str] = ("box",), errors: Sequence[str] = ()) -> bytes:
    """A whole file."""
    told = b"".join(content(4, host) for host in hosts) + b"".join(content(2, error) for error in errors)
    return b"".join(content(1, plane.encoded()) for plane in planes) + told


def _line(line: Line, kinds: Sequence[str], names: Sequence[str]) -> bytes:
    events = b"".join(content(4, _event(event, kinds, names)) for event in line.events)
    return number(1, line.number) + content(2, line.name) + number(3, line.timestamp_ns) + events


def _event(event: Event, kinds: Sequence[str], names: Sequence[str]) -> bytes:
    when = number(5, event.occurrences) if event.occurrences else number(2, event.start_ps)
    kind = number(1, kinds.index(event.name) + 1)
    return kind + when + number(3, event.length_ps) + _stats(4, event.stats, names)


def _stats(place: int, stats: Mapping[str, Value], names: Sequence[str]) -> bytes:
    return b"".join(
        content(place, number(1, names.index(name) + 1) + _value(value)) for name, value in stats.items()
    )


def _value(value: Value) -> bytes:
    if isinstance(value, float):
        return real(2, value)
    if isinstance(value, int):
        return number(4, value)
    return content(5 if isinstance(value, str) else 6, value)


@dataclass
class ReadEvent:
    """One event as the independent reader sees it."""

    plane: str
    line: str
    name: str
    length_ps: int
    stats: set[str]


def read_events(data: bytes) -> list[ReadEvent]:
    """Every event of a file."""
    return [
        event
        for place, plane in _fields(data)
        if place == 1 and isinstance(plane, bytes)
        for event in _plane(plane)
    ]


def _plane(data: bytes) -> Iterator[ReadEvent]:
    parts = list(_fields(data))
    name = next(
        (str(value, "utf-8") for place, value in parts if place == 2 and isinstance(value, bytes)), ""
    )
    kinds, stats = _names(parts, 4), _names(parts, 5)
    for line in (value for place, value in parts if place == 3 and isinstance(value, bytes)):
        entries = list(_fields(line))
        title = next(
            (str(value, "utf-8") for place, value in entries if place == 2 and isinstance(value, bytes)), ""
        )
        for event in (value for place, value in entries if place == 4 and isinstance(value, bytes)):
            inside = list(_fields(event))
            one = {place: value for place, value in inside if isinstance(value, int)}
            told = [
                dict(_fields(value)) for place, value in inside if place == 4 and isinstance(value, bytes)
            ]
            yield ReadEvent(
                name, title, kinds.get(one.get(1, 0), ""), one.get(3, 0), {stats[int(t[1])] for t in told}
            )


def _names(parts: Sequence[tuple[int, int | bytes]], wanted: int) -> dict[int, str]:
    names = {}
    for entry in (
        dict(_fields(value)) for place, value in parts if place == wanted and isinstance(value, bytes)
    ):
        about = dict(_fields(bytes(entry[2])))
        names[int(entry.get(1, 0))] = str(bytes(about.get(2, b"")), "utf-8")
    return names


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        if tag & 7 == 0:
            value, at = _number(data, at)
            yield tag >> 3, value
            continue
        length, at = (8, at) if tag & 7 == 1 else (4, at) if tag & 7 == 5 else _number(data, at)
        yield tag >> 3, data[at : at + length]
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    end = next(place for place in range(at, len(data)) if data[place] < 0x80)
    return sum((data[place] & 0x7F) << 7 * (place - at) for place in range(at, end + 1)), end + 1
