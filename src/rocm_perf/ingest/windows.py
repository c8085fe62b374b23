"""Reading a window of a recording: which times it means, and how files that can only be read whole are cut to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.processes import Group, Piece
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model.time_window import Span, TimeWindow, within


def surveyed_span(window: TimeWindow, sources: Iterable[Source]) -> Span | None:
    """The times that the window means in these files, by the earliest that a survey shows; None if none can show it."""
    firsts = [first for source in sources if (first := _first_ns(source)) is not None]
    return window.at(min(firsts)) if firsts else None


def cut_pieces(window: TimeWindow, pieces: list[Piece]) -> list[Piece]:
    """Files that were read whole, cut to the window, which counts from the earliest time in them."""
    starts = [span[0] for piece in pieces if (span := Group((piece,)).span)]
    if not starts:
        return pieces
    wanted = window.at(min(starts))
    return [replace(piece, part=cut_part(wanted, piece.part)) for piece in pieces]


def cut_part(span: Span, part: Part) -> Part:
    """What of a file starts in the span, without tables of which nothing does."""
    tables = {name: within(name, frame, span) for name, frame in part.tables.items()}
    return replace(part, tables={name: frame for name, frame in tables.items() if frame.height})


def _first_ns(source: Source) -> int | None:
    try:
        adapter = sniff(source)
        return adapter.survey(source).first_ns if adapter.survey else None
    except RocmPerfError:  # reading it will say why
        return None
