"""From the bytes of an XSpace to planes. It is walked plane by plane and line by line, so that only one line is in
memory as messages, and a file that breaks off loses the plane in which it does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import polars as pl

from rocm_perf.ingest.io.protobuf import BYTES, BrokenMessageError, decoded, fields
from rocm_perf.ingest.io.source import is_plausible_text
from rocm_perf.ingest.xplane.messages import ERRORS, HOSTNAMES, LINES, PLANES, WARNINGS, xplane_messages
from rocm_perf.ingest.xplane.planes import COLUMN, SCHEMA, STATISTICS, Line, Plane
from rocm_perf.units import format_count

_MOST_SHOWN = 200  # characters of an error that the profiler wrote down
_MOST_LINES = 4_000  # of all planes: a thread or a stream has one, and each costs milliseconds to read
_NO_EVENTS = pl.DataFrame(schema=SCHEMA)
_INT64 = range(-(1 << 63), 1 << 63)
_METADATA_PLANE = "/host:metadata"
_HLO_PROTO = "Hlo Proto"
_PROGRAM = re.compile(r"\((\d{1,19})\)$")

Value = int | float | str
Reader = Callable[[Any, Mapping[int, str]], Value | None]


class Space(msgspec.Struct):
    """What one file holds."""

    planes: list[Plane] = msgspec.field(default_factory=list)
    programs: dict[int, bytes] = msgspec.field(default_factory=dict)  # by program id: an undecoded HloProto
    hosts: list[str] = msgspec.field(default_factory=list)
    errors: list[str] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    damage: list[str] = msgspec.field(default_factory=list)
    size_bytes: int = 0
    lines: int = 0
    text_bytes: int = 0  # of its rows, with what they name by number


def decode_space(data: bytes) -> Space:
    """All planes of a file, and what of it could not be read."""
    space = Space(size_bytes=len(data))
    texts = {HOSTNAMES: space.hosts, ERRORS: space.errors, WARNINGS: space.warnings}
    try:
        for at in fields(data):
            if at.number == PLANES and at.kind == BYTES:
                _add_plane(space, data[at.start : at.end])
            elif at.number in texts and at.kind == BYTES:
                texts[at.number].append(_text(data[at.start : at.end])[:_MOST_SHOWN])
    except BrokenMessageError as error:
        space.damage.append(f"it breaks off behind {format_count(len(space.planes), 'plane')} ({error})")
    return space


def _add_plane(space: Space, data: bytes) -> None:
    try:
        about_bytes, lines_at = _divided(data)
        messages = xplane_messages()
        about = decoded(messages["XPlane"], about_bytes)
        names = _Names(about)
        if names.plane == _METADATA_PLANE:
            space.programs.update(_programs(about, names))
        space.lines += len(lines_at)
        if space.lines > _MOST_LINES:
            raise BrokenMessageError(f"the file has more than {_MOST_LINES:,} lines")
        lines = []
        for start, end in lines_at:
            lines.append(_line(decoded(messages["XLine"], data[start:end]), names))
            space.text_bytes += _text_bytes(lines[-1].events)
            if not is_plausible_text(space.text_bytes, space.size_bytes):
                raise BrokenMessageError("its events name longer texts than any program has")
        space.planes.append(Plane(names.plane, tuple(lines), names.facts(about.stats)))
    except BrokenMessageError as error:
        space.damage.append(f"a plane of {len(data):,} bytes is left out ({error})")


def _divided(data: bytes) -> tuple[bytes, list[tuple[int, int]]]:
    """The plane's message without its lines, by far the largest part of it, and where those lie."""
    about: list[bytes] = []
    lines: list[tuple[int, int]] = []
    kept = 0
    for at in fields(data):
        if at.number == LINES:
            about.append(data[kept : at.begin])
            kept = at.end
            if at.kind == BYTES and len(lines) <= _MOST_LINES:
                lines.append((at.start, at.end))
    return b"".join((*about, data[kept:])), lines


class _Cell(NamedTuple):
    """The values of one statistic in some rows of a line."""

    column: str
    read: Reader
    rows: list[int]
    values: list[Value | None]


class _Names:
    """What the numbers in a plane's events stand for."""

    def __init__(self, about: Any) -> None:
        self.plane = _text(about.name)
        self.texts = {entry.key: _text(entry.value.name) for entry in about.stat_metadata}
        self._events = {entry.key: entry.value for entry in about.event_metadata}
        self._described: dict[int, dict[str, Value | None]] = {}
        self._used = {
            key: (COLUMN.get(name, name), _READERS[type(STATISTICS[name])])
            for key, name in self.texts.items()
            if name in STATISTICS
        }

    def kinds(self, numbers: pl.Series) -> pl.DataFrame:
        """The name of each kind of event and the statistics that all events of it share, as columns."""
        for number in numbers:
            if number not in self._described:
                self._described[number] = self._description(self._events.get(number))
        rows = [self._described[number] for number in numbers]
        used = {name for row in rows for name in row}
        columns = {name: [row.get(name) for row in rows] for name in SCHEMA if name in used}
        frame = pl.DataFrame(columns, schema={name: SCHEMA[name] for name in columns})
        return frame.with_columns(numbers.alias("kind"))

    def _description(self, kind: Any) -> dict[str, Value | None]:
        if kind is None:
            return {"event": None}
        full, shown = _text(kind.name), _text(kind.display_name)
        named: dict[str, Value | None] = {"event": shown or full}
        if shown:
            named["long_name"] = full
        return named | dict(self.statistics(kind.stats))

    def cell(self, number: int) -> _Cell | None:
        """An empty cell for the statistic of a number; None if it is not used."""
        used = self._used.get(number)
        return None if used is None else _Cell(*used, [], [])

    def statistics(self, stats: Any) -> Iterator[tuple[str, Value | None]]:
        """The columns that these statistics fill, with their values."""
        for stat in stats:
            used = self._used.get(stat.metadata_id)
            if used is not None:
                yield used[0], used[1](stat, self.texts)

    def facts(self, stats: Any) -> dict[str, Value]:
        """The statistics of the plane itself, by their names."""
        named = ((self.texts.get(stat.metadata_id, ""), stat) for stat in stats)
        return {name: _plain(stat, self.texts) for name, stat in named if name}

    def payload(self, stats: Any, name: str) -> bytes:
        """The bytes of the statistic of a name; empty where there is none."""
        return next((s.bytes_value for s in stats if self.texts.get(s.metadata_id) == name), b"")


def _line(line: Any, names: _Names) -> Line:
    """One line with its events; a statistic that few events have costs only those."""
    name = _text(line.display_name) or _text(line.name)
    if not line.events:
        return Line(line.id, name, _NO_EVENTS)
    kinds, starts, lengths, counts = [], [], [], []
    cells: dict[int, _Cell | None] = {}
    texts = names.texts
    for row, event in enumerate(line.events):
        kinds.append(event.metadata_id)
        starts.append(event.offset_ps)
        lengths.append(event.duration_ps)
        counts.append(event.num_occurrences)
        for stat in event.stats:
            number = stat.metadata_id
            if number not in cells:
                cells[number] = names.cell(number)
            if (cell := cells[number]) is not None:
                cell.rows.append(row)
                cell.values.append(cell.read(stat, texts))
    start, length, count = pl.col("start"), pl.col("length"), pl.col("count")
    frame = pl.DataFrame(
        {"kind": kinds, "start": starts, "length": lengths, "count": counts},
        schema=dict.fromkeys(("kind", "start", "length", "count"), pl.Int64),
    ).select(
        "kind",
        start_ns=pl.when(count == 0).then(line.timestamp_ns + start // 1000),
        end_ns=pl.when(count == 0)
        .then(line.timestamp_ns + (start + length) // 1000)
        .otherwise(length // 1000),
        occurrences=pl.when(count > 0).then(count),
    )
    own = [_scattered(cell, frame.height) for cell in cells.values() if cell is not None]
    shared = names.kinds(frame["kind"].unique())
    events = _coalesced(
        frame, own, frame.select("kind").join(shared, on="kind", how="left", maintain_order="left")
    )
    return Line(line.id, name, events)


def _scattered(cell: _Cell, height: int) -> pl.Series:
    """A column that is null but in some rows."""
    dtype = SCHEMA[cell.column]
    if dtype == pl.String:  # each text once, since a file may name a long one in all of its rows
        pool = {value: place for place, value in enumerate(dict.fromkeys(cell.values))}
        places = _Cell("", cell.read, cell.rows, [pool[value] for value in cell.values])
        return pl.Series(cell.column, list(pool), dtype=dtype).gather(_filled(places, height, pl.UInt32()))
    return _filled(cell, height, dtype)


def _filled(cell: _Cell, height: int, dtype: pl.DataType) -> pl.Series:
    empty = pl.Series(cell.column, [None], dtype=dtype).new_from_index(0, height)
    filled: pl.Series = empty.scatter(cell.rows, pl.Series(cell.values, dtype=dtype))
    return filled


def _text_bytes(events: pl.DataFrame) -> int:
    """The length of all texts, each as often as it is named."""
    sums = events.select(pl.col(pl.String).str.len_bytes().cast(pl.Int64).sum())
    return int(sum(sums.row(0)))


def _coalesced(frame: pl.DataFrame, own: list[pl.Series], shared: pl.DataFrame) -> pl.DataFrame:
    """The events with all columns: what an event says itself goes before what all of its kind share."""
    said = {column.name: column for column in own}
    columns = []
    for name, dtype in SCHEMA.items():
        if name in frame.columns:
            columns.append(frame[name])
        elif name in said and name in shared.columns:
            columns.append(said[name].zip_with(said[name].is_not_null(), shared[name]))
        elif name in said or name in shared.columns:
            columns.append(said[name] if name in said else shared[name])
        else:
            columns.append(pl.Series(name, [None], dtype=dtype).new_from_index(0, frame.height))
    return pl.DataFrame(columns)


def _programs(about: Any, names: _Names) -> Iterator[tuple[int, bytes]]:
    """The compiled programs in the plane of metadata, by their ids: 17 of `jit_step(17)`."""
    for entry in about.event_metadata:
        if content := names.payload(entry.value.stats, _HLO_PROTO):
            numbered = _PROGRAM.search(_text(entry.value.name))
            yield int(numbered.group(1)) if numbered else entry.key, content


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _plain(stat: Any, texts: Mapping[int, str]) -> Value:
    return _as_text(stat, texts) or stat.int64_value or stat.uint64_value or stat.double_value


def _as_text(stat: Any, texts: Mapping[int, str]) -> str | None:
    if stat.ref_value:
        return texts.get(stat.ref_value)
    return _text(stat.str_value) or None


def _as_text_of_anything(stat: Any, texts: Mapping[int, str]) -> str | None:
    number = stat.int64_value or stat.uint64_value
    return _as_text(stat, texts) or (str(number) if number else None)


def _as_whole(stat: Any, texts: Mapping[int, str]) -> int | None:
    number = stat.int64_value or stat.uint64_value
    if number:
        return number if number in _INT64 else None
    text = _as_text(stat, texts)
    return int(stat.double_value) if text is None and abs(stat.double_value) < 1 << 63 else whole(text)


def _as_real(stat: Any, texts: Mapping[int, str]) -> float | None:
    number = stat.double_value or stat.int64_value or stat.uint64_value
    value = float(number) if number else real(_as_text(stat, texts) or "0")
    return value if value is not None and math.isfinite(value) else None


def whole(text: str | None) -> int | None:
    """The number that a text says, in decimals or as 0x...; None where it is none of 64 bits."""
    try:
        number = int(text or "", 16 if (text or "").startswith("0x") else 10)
    except ValueError:
        return None
    return number if number in _INT64 else None


def real(text: str | None) -> float | None:
    """The number that a text says; None where it says none."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_READERS: dict[type[pl.DataType], Reader] = {
    pl.String: _as_text_of_anything,
    pl.Int64: _as_whole,
    pl.Float64: _as_real,
}
