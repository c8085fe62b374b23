"""Reading a window of a recording: which times it means, and how files that can only be read whole are cut to it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.processes import Group, Piece
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model.time_window import Span, TimeWindow, ended, within


def surveyed_span(window: TimeWindow, sources: Iterable[Source]) -> Span | None:
    """The times that the window means in these files, by the earliest that a survey shows; None if none can show it."""
    firsts = [first for source in sources if (first := _first_ns(source)) is not None]
    return window.at(min(firsts)) if firsts else None


def cut_pieces(window: TimeWindow, span: Span | None, pieces: list[Piece]) -> list[Piece]:
    """The files of a window. Where no survey showed its span they were read whole, and are cut here: the window counts
    from the earliest time in them."""
    if span is None:
        starts = [times[0] for piece in pieces if (times := Group((piece,)).span)]
        if not starts:
            return pieces
        span = window.at(min(starts))
        pieces = [replace(piece, part=cut_part(span, piece.part)) for piece in pieces]
    return [replace(piece, part=_ended_part(span, piece.part)) for piece in pieces] if window.cuts else pieces


def cut_part(span: Span, part: Part) -> Part:
    """What of a file starts in the span, without tables of which nothing does."""
    tables = {name: within(name, frame, span) for name, frame in part.tables.items()}
    return replace(part, tables={name: frame for name, frame in tables.items() if frame.height})


def _ended_part(span: Span, part: Part) -> Part:
    """The part, of which nothing lasts longer than the span."""
    return replace(part, tables={name: ended(frame, span) for name, frame in part.tables.items()})


def _first_ns(source: Source) -> int | None:
    try:
        adapter = sniff(source)
        return adapter.survey(source).first_ns if adapter.survey else None
    except RocmPerfError:  # reading it will say why
        return None
