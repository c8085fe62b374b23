"""Chrome trace events as columns of text, piece by piece. Times never pass through a float, so no digit is lost, and
one malformed value costs one event."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.json import EventArray, nothing_read
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

T = TypeVar("T")

_ABSENT = msgspec.Raw(b"")
_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_FIRST_OBJECTS = re.compile(r"\s*\[\s*(\{\s*\}\s*,\s*)*\{")
_MICROSECONDS = r"^(?P<sign>-?)(?P<whole>\d{1,16})(?:\.(?P<part>\d+))?$"
_SCIENTIFIC = re.compile(r"-?\d{1,20}(\.\d{1,20})?[eE][-+]?\d{1,3}")
_MAX_MICROSECONDS = (1 << 63) // 1000 - 2
_BAD = (msgspec.MsgspecError, UnicodeError, RecursionError)


class Event(msgspec.Struct, gc=False):
    """One event; fields that only some events need stay undecoded."""

    ph: str = ""
    name: str | None = None
    cat: str | None = None
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    ts: msgspec.Raw = _ABSENT
    dur: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT
    args: msgspec.Raw = _ABSENT


_EVENTS = msgspec.json.Decoder(list[Event])
_EVENT = msgspec.json.Decoder(Event)
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_NO_EVENT = Event(ph="?")


class Events(msgspec.Struct, frozen=True):
    """One piece of a trace: a frame of text (row, ph, name, cat, pid, tid, ts, dur); the rest on demand."""

    frame: pl.DataFrame
    events: list[Event]

    def arguments(self, rows: Iterable[int]) -> list[dict[str, Any]]:
        """The args of some events, empty where they are missing or not an object."""
        return [_object(self.events[row].args) for row in rows]

    def ids(self, rows: Iterable[int]) -> pl.Series:
        return pl.Series("id", [_text(self.events[row].id) for row in rows], pl.String).str.strip_chars('"')


def event_array(source: Source) -> EventArray[Events]:
    """The events of a source, one `Events` for each piece of the file."""
    peek = Peek(source)
    if peek.json_kind == "array":
        return EventArray(source, None, decode)
    if not _LIST.search(peek.head):
        raise InputError(f"{source.name} has no list of events", "its traceEvents are not an array")
    return EventArray(source, "traceEvents", decode)


def read_pieces(
    array: EventArray[Events], name: str, sort_out: Callable[[Events], T]
) -> tuple[list[T], list[Loss]]:
    """Every piece of the event list, sorted as it is read so that only the rows to keep stay in memory, and the losses.
    Raises if there is no event at all."""
    pieces = [sort_out(piece) for piece in array]
    if pieces:
        return pieces, [Loss(name, array.damage)] if array.damage else []
    raise nothing_read(name, array.damage, "its list of events is empty")


def holds_events(peek: Peek) -> bool:
    """Whether the file is a list of trace events, bare or as `traceEvents`."""
    if peek.json_kind == "array":
        return _FIRST_OBJECTS.match(peek.text) is not None and '"ph"' in peek.text
    return "traceEvents" in peek.json_keys


def decode(data: bytes) -> Events:
    """A JSON array of events; an element that is not an event gets the phase `?`."""
    try:
        events = _EVENTS.decode(data)
    except (msgspec.ValidationError, UnicodeDecodeError):
        events = [_event(element) for element in _ELEMENTS.decode(data)]
    columns = {
        "ph": [event.ph for event in events],
        "name": [event.name for event in events],
        "cat": [event.cat for event in events],
        "pid": [scalar(event.pid) for event in events],
        "tid": [scalar(event.tid) for event in events],
        "ts": [_text(event.ts) for event in events],
        "dur": [_text(event.dur) for event in events],
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return Events(frame.with_columns(pl.col("ts", "dur").str.strip_chars('" ')).with_row_index("row"), events)


def _event(element: msgspec.Raw) -> Event:
    """One event of a list in which some element is malformed."""
    try:
        return _EVENT.decode(element)
    except (msgspec.ValidationError, UnicodeDecodeError):
        pass
    try:
        fields = _FIELDS.decode(element)
    except _BAD:
        return _NO_EVENT
    event = Event(ph="?")
    for name, value in fields.items():
        if name in ("ts", "dur", "id", "args"):
            setattr(event, name, value)
        elif name in ("ph", "name", "cat", "pid", "tid"):
            setattr(event, name, (_text(value) or "").strip('"'))
    return event


def _text(raw: msgspec.Raw) -> str | None:
    return str(raw, "utf-8", "replace") or None


def _object(raw: msgspec.Raw) -> dict[str, Any]:
    try:
        return _OBJECT.decode(raw)
    except _BAD:
        return {}


def argument(args: list[dict[str, Any]], key: str) -> pl.Series:
    """One argument of each event, as text."""
    return pl.Series(key, [scalar(values.get(key)) for values in args], pl.String)


def scalar(value: object) -> str | None:
    """A string or a number as text; null for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64):
        return str(value)
    return None


def whole(column: str) -> pl.Expr:
    """A column of digits as Int64; null for anything else (`Stream 7`)."""
    return pl.col(column).str.strip_chars().cast(pl.Int64, strict=False)


def with_nanoseconds(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Columns of microseconds in text (`12`, `12.345`, `1.2e6`) as Int64 nanoseconds, rounded only after the third
    decimal; null where the text is not such a number."""
    return frame.with_columns(_nanoseconds(frame[column]).alias(column) for column in columns)


def _nanoseconds(texts: pl.Series) -> pl.Series:
    digits = texts.str.extract_groups(_MICROSECONDS).struct.unnest()
    micros = pl.col("whole").cast(pl.Int64, strict=False)
    tenths = pl.col("part").fill_null("").str.pad_end(4, "0").str.slice(0, 4).cast(pl.Int64, strict=False)
    size = pl.when(micros <= _MAX_MICROSECONDS).then(micros * 1000 + (tenths + 5) // 10)
    times = digits.select(pl.when(pl.col("sign") == "-").then(-size).otherwise(size).alias("time"))["time"]
    scientific = texts.str.contains("[eE]") & times.is_null()
    if not scientific.any():
        return times
    rare = [_scaled(text) if is_rare else None for text, is_rare in zip(texts, scientific, strict=True)]
    return pl.select(pl.coalesce(times, pl.Series(rare, dtype=pl.Int64)))[:, 0]


def _scaled(text: str) -> int | None:
    if not _SCIENTIFIC.fullmatch(text):
        return None
    value = Decimal(text)
    if value.adjusted() > 14:
        return None
    return round(value * 1000) if value.adjusted() > -10 else 0
