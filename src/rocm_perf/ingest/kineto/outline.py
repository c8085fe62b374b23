"""A look at a torch trace of any size: how many events it has, and when they were. They are not in the order of time,
so this takes a pass over all of the file, in which times alone are decoded and nothing stays in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from rocm_perf.ingest.io.json import EventArray
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.kineto.fields import IGNORED
from rocm_perf.ingest.kineto.header import around
from rocm_perf.ingest.kineto.types import Event, piece_decoder
from rocm_perf.ingest.survey import Survey
from rocm_perf.units import NS_PER_US

_SAMPLED = 1_000  # moments of all
_SAMPLED_PER_PIECE = 8
_KEPT = 64  # outlines: a trace that is read window by window is asked for its own each time


class _Moment(msgspec.Struct, gc=False):
    ph: str = ""
    cat: str = ""
    ts: float | None = None


_Piece = list[_Moment] | list[Event]


class Outline(msgspec.Struct, frozen=True):
    """How many events a trace has; some of their starts, ascending, the first and the last among them; and the time
    that starts count from."""

    events: int
    moments: tuple[int, ...]
    base_ns: int


def survey(source: Source) -> Survey:
    """The rows of a trace, and when they are."""
    outline = outlined(source)
    return Survey(
        rows={"events": outline.events},
        first_ns=min(outline.moments, default=None),
        last_ns=max(outline.moments, default=None),
        moments=outline.moments,
        in_part=True,
    )


def outlined(source: Source) -> Outline:
    """The outline of a trace; the same again while its file does not change."""
    state = source.path.stat()
    return _outlined(source, state.st_size, state.st_mtime_ns)


@lru_cache(_KEPT)
def _outlined(source: Source, _size: int, _modified_ns: int) -> Outline:
    array = EventArray(source, "traceEvents", _decoder())
    events, ends_us, sampled_us = 0, list[float](), list[float]()
    for piece in array:
        starts = [event.ts for event in piece if _is_work(event) and event.ts is not None]
        events += len(starts)
        if starts:
            ends_us = [min([*ends_us, *starts]), max([*ends_us, *starts])]
            sampled_us += starts[:: len(starts) // _SAMPLED_PER_PIECE + 1]
    base_ns = around(array.prefix, array.suffix, source.name).base_ns or 0
    known_us = sorted([*sampled_us[:: len(sampled_us) // _SAMPLED + 1], *ends_us])
    return Outline(events, tuple(base_ns + round(moment * NS_PER_US) for moment in known_us), base_ns)


def _is_work(event: _Moment | Event) -> bool:
    return event.ph == "X" and event.cat not in IGNORED


def _decoder() -> Callable[[bytes], _Piece]:
    """A decoder of pieces of the event list: their times, or the whole events where one is not of the usual form."""
    moments = msgspec.json.Decoder(list[_Moment])
    whole, _ = piece_decoder(exact=False)

    def decode(data: bytes) -> _Piece:
        try:
            return moments.decode(data)
        except msgspec.ValidationError:
            return whole(data)

    return decode
