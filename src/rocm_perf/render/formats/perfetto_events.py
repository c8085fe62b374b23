"""Slices and counter readings as packets of a Perfetto trace. The numbers of fields are those of its messages
TracePacket, TrackEvent and DebugAnnotation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from rocm_perf.render.formats.wire import Part, Parts, constant, eight_bytes, message, number, rows, width_of

SEQUENCE = 2  # the packets of what was traced; the tracer's own are another sequence
NEEDS_STATE = 2  # TracePacket.sequence_flags: it refers to names by their numbers
_BEGIN, _END, _COUNTER = 1, 2, 4  # TrackEvent.Type
_UINT, _INT, _DOUBLE, _INTERNED = 3, 4, 5, 17  # fields of a DebugAnnotation
_ROWS_AT_ONCE = 1 << 16
_REFERENCES = ("uuid", "name", "category", "start_ns", "end_ns")


@dataclass(frozen=True)
class Note:
    """An annotation of slices: the column it is in, its number, and whether the values are numbers of texts."""

    column: str
    iid: int
    is_text: bool


class SlicePackets:
    """The packets of slices. Columns: uuid (of the track), name and category (as numbers), start_ns, end_ns, flows and
    the annotations. A column has one width, whatever part of the slices is encoded: a part is never larger."""

    def __init__(self, slices: pl.DataFrame, notes: list[Note]) -> None:
        self._slices = slices
        self._notes = notes
        columns = [*_REFERENCES, *(note.column for note in notes)]
        self._widths = {
            column: width_of(values.drop_nulls().to_numpy())
            for column in columns
            if not (values := slices[column]).dtype.is_float()
        }

    def __iter__(self) -> Iterator[list[bytes]]:
        """A begin and an end for each slice, in their order, a few thousand at once."""
        for piece in self._slices.iter_slices(_ROWS_AT_ONCE):
            packets = np.empty(piece.height, object)
            # Slices with the same fields are encoded together.
            fields = [pl.col(note.column).is_not_null().alias(f"has {note.column}") for note in self._notes]
            alike = [pl.col("category"), pl.col("flows").list.len().alias("flow count"), *fields]
            for _, group in piece.with_row_index("row").group_by(*alike):
                packets[group["row"].to_numpy()] = self._encoded(group)
            yield packets.tolist()

    def _encoded(self, group: pl.DataFrame) -> list[bytes]:
        track = self._number(11, group, "uuid")
        begin = (
            *constant(9, _BEGIN),
            *track,
            *self._number(10, group, "name"),
            *self._number(3, group, "category"),
            *_flows(group),
            *(part for note in self._notes for part in self._annotation(note, group)),
        )
        flags = constant(13, NEEDS_STATE)
        both = (
            *_packet(*self._number(8, group, "start_ns"), *flags, *message(11, *begin)),
            *_packet(*self._number(8, group, "end_ns"), *message(11, *constant(9, _END), *track)),
        )
        return rows(both, group.height)

    def _annotation(self, note: Note, group: pl.DataFrame) -> Parts:
        values = group[note.column]
        if values[0] is None:
            return ()
        if values.dtype.is_float():
            value = eight_bytes(_DOUBLE, values.to_numpy())
        else:
            signed = values.dtype.is_signed_integer() and self._widths[note.column] == 10
            field = _INTERNED if note.is_text else _INT if signed else _UINT
            value = self._number(field, group, note.column)
        return message(4, *constant(1, note.iid), *value)

    def _number(self, field: int, group: pl.DataFrame, column: str) -> Parts:
        return number(field, group[column].to_numpy(), self._widths[column])


def reading_packets(readings: pl.DataFrame) -> Iterator[list[bytes]]:
    """The packets of counter readings. Columns: uuid (of the track), time_ns, value."""
    widths = [width_of(readings[column].to_numpy()) for column in ("time_ns", "uuid")]
    for piece in readings.iter_slices(_ROWS_AT_ONCE):
        time, uuid, value = (piece[column].to_numpy() for column in ("time_ns", "uuid", "value"))
        event = (*constant(9, _COUNTER), *number(11, uuid, widths[1]), *eight_bytes(44, value))
        yield rows(_packet(*number(8, time, widths[0]), *message(11, *event)), piece.height)


def _packet(*parts: Part) -> Parts:
    """A packet of the sequence, as an element of a Trace."""
    return message(1, *constant(10, SEQUENCE), *parts)


def _flows(group: pl.DataFrame) -> Parts:
    """Numbers shared with what the slice launched, or was launched by; as many for every slice of the group."""
    flows = group["flows"].explode().drop_nulls().to_numpy().reshape(group.height, -1)
    return tuple(part for column in flows.T for part in eight_bytes(47, column))
