"""What is read from files, and what could not be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.helpers import HELPERS, expect
from rocm_perf.ingest.io.source import Source, consulting, note_consulted
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.paths import Trouble, sources_at
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.processes import Piece
from rocm_perf.ingest.sniff import adapter_named, sniff
from rocm_perf.ingest.windows import cut_part, cut_pieces, surveyed_span
from rocm_perf.model.bounds import bounded
from rocm_perf.model.run import Loss
from rocm_perf.model.time_window import Span, TimeWindow
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count


class ReadFiles(msgspec.Struct, frozen=True):
    """What was read from some files."""

    pieces: list[Piece] = msgspec.field(default_factory=list)
    troubles: list[Trouble] = msgspec.field(default_factory=list)


def read_all(paths: list[Path], window: TimeWindow | None = None) -> ReadFiles:
    """What the files hold, or what of it starts in a window; a bad one does not keep the others from being read."""
    files = ReadFiles()
    listed = [entry for path in paths for entry in _listed(path)]
    sources = [entry for entry in listed if isinstance(entry, Source)]
    span = surveyed_span(window, sources) if window else None
    expect(sources[1:], span)
    for entry in listed:
        if isinstance(entry, Trouble):
            files.troubles.append(entry)
            continue
        try:
            files.pieces.append(_read(entry, span))
        except RocmPerfError as error:
            files.troubles.append(Trouble(entry.name, error))
    if window:
        files.pieces[:] = cut_pieces(window, span, files.pieces)
    return files


def _listed(path: Path) -> list[Source] | list[Trouble]:
    try:
        return sources_at(path)
    except RocmPerfError as error:
        return [Trouble(str(path), error)]


def _read(source: Source, span: Span | None) -> Piece:
    helpers = HELPERS.get()
    content = helpers.read(source, span) if helpers else None
    piece = (
        read_source(source, span)
        if content is None
        else Piece(source, adapter_named(content.adapter), content.part, place_of(source))
    )
    note_consulted(states=piece.part.consulted)
    return piece


def read_source(source: Source, span: Span | None) -> Piece:
    """What one file holds, or what of it starts in a span."""
    with consulting() as consulted:
        piece = _read_alone(source, span)
    return replace(piece, part=replace(piece.part, consulted=consulted)) if consulted else piece


def _read_alone(source: Source, span: Span | None) -> Piece:
    try:
        adapter = sniff(source)
        if span is None:
            part = _within_bounds(adapter.read(source), source.name)
        elif adapter.read_span is None:
            part = cut_part(span, _within_bounds(adapter.read(source), source.name))
        else:
            part = _within_bounds(adapter.read_span(source, span), source.name)
        return Piece(source=source, adapter=adapter, part=part, place=place_of(source))
    except MemoryError as error:
        raise InputError(
            f"{source.name} does not fit into memory", next_step="Read it on a larger machine."
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"cannot read {source.name}", reason) from error


def _within_bounds(part: Part, name: str) -> Part:
    """The part without impossible values, which become losses."""
    losses = []
    for table, frame in part.tables.items():
        part.tables[table], lost = bounded(table, frame)
        losses += [
            Loss(name, f"{column} of {table} that nothing could have recorded", rows)
            for column, rows in lost.items()
        ]
    return replace(part, losses=part.losses + tuple(losses)) if losses else part


def require_rows(pieces: list[Piece], path: Path) -> None:
    """Raise unless something was recorded, or the files say why nothing was."""
    if any(piece.part.tables or piece.part.notices or piece.part.collection for piece in pieces):
        return
    losses = [loss for piece in pieces for loss in piece.part.losses]
    if losses:
        raise InputError(f"{path} holds no usable record", f"{losses[0].source}: {losses[0].what}")
    raise EmptyCaptureError(
        f"{path} holds no record",
        "the profiler recorded nothing",
        "Check what it printed when it ran, and that it was of the process that launches kernels.",
    )


def with_troubles(trace: Trace, troubles: list[Trouble]) -> Trace:
    """The trace with the files that were not read: a loss if broken, a notice if foreign or empty."""
    if not troubles:
        return trace
    losses = tuple(Loss(trouble.name, str(trouble.error)) for trouble in troubles if trouble.is_loss)
    empty = [t.file_name for t in troubles if isinstance(t.error, EmptyCaptureError)]
    foreign = [t.file_name for t in troubles if not t.is_loss and t.file_name not in empty]
    notices = tuple(
        f"{format_count(len(names), 'file')} beside it {what}: {_some(names)}"
        for names, what in ((empty, "empty"), (foreign, "not read"))
        if names
    )
    run = msgspec.structs.replace(
        trace.run, losses=trace.run.losses + losses, notices=trace.run.notices + notices
    )
    return trace.described(run)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def nothing_read(path: Path, troubles: list[Trouble]) -> RocmPerfError:
    """The error for a folder or an archive without a readable recording."""
    if not troubles:
        return EmptyCaptureError(
            f"{path} is empty", "the profiler wrote nothing there", "Check what it printed when it ran."
        )
    all_empty = all(isinstance(trouble.error, EmptyCaptureError) for trouble in troubles)
    kind = EmptyCaptureError if all_empty else InputError
    worst = next((t.error for t in troubles if t.is_loss), troubles[0].error)
    return kind(
        f"{path} holds no readable recording",
        f"{format_count(len(troubles), 'file')} there, for example: {worst}",
    )
