"""From paths to Traces: a file, a compressed file, a zip, a folder of one run, or a bundle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError, UsageError
from rocm_perf.ingest.captures.runs import is_capture, replays_graphs, require_captures, with_captures
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.merge import merge
from rocm_perf.ingest.own.run_folders import placed_in_runs
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.paths import Trouble, sources_at, walk
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.runs import TIMED, Piece, group_by_process, split_runs
from rocm_perf.ingest.sniff import sniff
from rocm_perf.ingest.windows import cut_part, cut_pieces, surveyed_span
from rocm_perf.model import bundle
from rocm_perf.model.bounds import bounded
from rocm_perf.model.run import Loss, RunInfo
from rocm_perf.model.time_window import Span, TimeWindow
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns


@dataclass(frozen=True)
class Loaded:
    """One run, or why it could not be read; of a file in which nothing was recorded, both."""

    label: str
    trace: Trace | None = None
    error: RocmPerfError | None = None


@dataclass(frozen=True)
class _ReadFiles:
    """What was read from some files."""

    pieces: list[Piece] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)


def load(
    path: Path, *, as_one: bool = False, window: TimeWindow | None = None, captures: Sequence[Path] = ()
) -> Trace:
    """The one run at `path`, or a window of it; raises if there is none, or more than one (unless all files are to be
    `as_one`). Its graph replays are joined with `captures` and with those that lie beside it."""
    loaded = load_path(path, as_one=as_one, window=window, captures=captures)
    runs = [run for run in loaded if run.trace]
    if len(runs) > 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs, not one",
            _enumerate(runs),
            "Name one of them, add --as-one if they belong together, or see each with rocm-perf analyze --each.",
        )
    if not runs:
        raise next(run.error for run in loaded if run.error)
    trace = runs[0].trace
    assert trace is not None
    return trace


def load_path(
    path: Path, *, as_one: bool = False, window: TimeWindow | None = None, captures: Sequence[Path] = ()
) -> list[Loaded]:
    """Every run at `path`, which may be a file or a folder; `as_one` takes all files as one run, `window` what starts
    in it. Graph replays are joined with `captures` and with those among the runs, which are then left out."""
    return _joined(_load_one(path, as_one=as_one, window=window), load_captures(captures))


def _load_one(path: Path, *, as_one: bool = False, window: TimeWindow | None = None) -> list[Loaded]:
    if not os.path.exists(path):
        raise InputError(f"{path} does not exist", next_step="Check the path.")
    if window is None:
        return _load_whole(path, as_one)
    try:
        loaded = _load_whole(path, as_one, window)
    except EmptyCaptureError as error:
        raise _nothing_in(window, path) from error
    return [_marked(run, window) for run in loaded]


def load_captures(paths: Sequence[Path]) -> list[Trace]:
    """The recordings of captures at the paths; raises where a path holds none."""
    captures: list[Trace] = []
    for path in paths:
        traces = [run.trace for run in _load_one(path) if run.trace]
        require_captures(traces, str(path))
        captures += [trace for trace in traces if trace.has("captured_launches")]
    return captures


def _joined(runs: list[Loaded], given: Sequence[Trace]) -> list[Loaded]:
    """The runs, with graph replays joined with the captures that were given and with those runs that hold nothing but
    captures, which are left out of the list."""
    beside = [run for run in runs if run.trace and is_capture(run.trace)]
    executions = [run for run in runs if run not in beside]
    if not any(run.trace and replays_graphs(run.trace) for run in executions):
        return [_with_captures(run, [], given) for run in runs]
    captures = [run.trace for run in beside if run.trace]
    return [_with_captures(run, captures, given) for run in executions]


def _with_captures(run: Loaded, beside: Sequence[Trace], given: Sequence[Trace]) -> Loaded:
    return replace(run, trace=with_captures(run.trace, beside, given)) if run.trace else run


def _load_whole(path: Path, as_one: bool, window: TimeWindow | None = None) -> list[Loaded]:
    if path.is_dir():
        return _load_folder(path, as_one, window)
    files = _read_all([path], window)
    if not files.pieces and len(files.troubles) == 1:
        raise files.troubles[0].error
    return _as_runs(files, path, as_one)


def _nothing_in(window: TimeWindow, path: Path) -> EmptyCaptureError:
    return EmptyCaptureError(
        f"nothing in {path} starts in the window {window}",
        "a window counts from the start of the recording",
        "Choose another one, or take the whole recording.",
    )


def _marked(run: Loaded, window: TimeWindow) -> Loaded:
    """The run with the notice that it is a part; raises if nothing of it is left."""
    if run.trace is None:
        return run
    if not any(run.trace.rows(name) for name in TIMED):
        raise _nothing_in(window, Path(run.label))
    return replace(run, trace=run.trace.described(part_of(run.trace.run, window)))


def part_of(run: RunInfo, window: TimeWindow) -> RunInfo:
    """The run, with the notice that it is a part."""
    notice = f"a part only: what starts in the window {window}"
    return msgspec.structs.replace(run, window=str(window), notices=(notice, *run.notices))


def made_whole(parts: Sequence[RunInfo]) -> RunInfo:
    """The run that these are all parts of: what was lost and noticed in any of them, each once."""
    notices = dict.fromkeys(notice for part in parts for notice in part.notices[1:])
    losses = dict.fromkeys(loss for part in parts for loss in part.losses)
    return msgspec.structs.replace(parts[0], window=None, notices=tuple(notices), losses=tuple(losses))


def load_files(paths: list[Path], captures: Sequence[Path] = ()) -> list[Loaded]:
    """Runs of several named paths. Files of one process (same folder and prefix) make one run; every other path is on
    its own, and a bad one does not keep the others from being read. Graph replays are joined with `captures` and with
    those among the runs, which are then left out."""
    given = load_captures(captures)
    results: list[Loaded] = []
    families: dict[object, list[Path]] = {}
    for path in dict.fromkeys(paths):
        key: object = place_of(Source(path)).set_key if os.path.isfile(path) else path
        families.setdefault(key, []).append(path)
    for members in families.values():
        results.extend(_load_family(members))
    return _joined(results, given)


def load_together(paths: Sequence[Path]) -> list[Loaded]:
    """The runs in files that lie together, usually one; or that of a bundle."""
    if len(paths) == 1:
        return load_path(paths[0])
    return _joined(_as_runs(_read_all(list(paths)), Path(os.path.commonpath(paths)), as_one=False), ())


def _load_family(paths: list[Path]) -> list[Loaded]:
    try:
        if len(paths) == 1:
            return _load_one(paths[0])
        files = _read_all(paths)
        bad = [Loaded(trouble.name, error=trouble.error) for trouble in files.troubles]
        if not files.pieces:
            return bad
        _require_rows(files.pieces, paths[0])
        return [Loaded(_label(files.pieces), merge(group_by_process(files.pieces))), *bad]
    except EmptyCaptureError as error:
        return [empty(paths[0], error)]
    except RocmPerfError as error:
        return [Loaded(str(paths[0]), error=error)]


def empty(path: Path, error: EmptyCaptureError) -> Loaded:
    """A file in which nothing was recorded: that is a conclusion too."""
    return Loaded(str(path), Trace({}), error)


def _load_folder(folder: Path, as_one: bool, window: TimeWindow | None) -> list[Loaded]:
    if bundle.is_bundle(folder):
        return [Loaded(str(folder), _bundled(folder, window))]
    content = walk(folder)
    runs = [_load_bundle(path, window) for path in content.bundles]
    files = _read_all(content.files, window)
    files.troubles.extend(content.troubles)
    if runs and not files.pieces:
        return runs
    return runs + _as_runs(files, folder, as_one)


def _bundled(folder: Path, window: TimeWindow | None) -> Trace:
    trace = bundle.read(folder)
    return trace if window is None else trace.part(window)


def _load_bundle(folder: Path, window: TimeWindow | None) -> Loaded:
    try:
        return Loaded(str(folder), _bundled(folder, window))
    except RocmPerfError as error:
        return Loaded(str(folder), error=error)


def _read_all(paths: list[Path], window: TimeWindow | None = None) -> _ReadFiles:
    files = _ReadFiles()
    listed = [entry for path in paths for entry in _listed(path)]
    sources = [entry for entry in listed if isinstance(entry, Source)]
    span = surveyed_span(window, sources) if window else None
    for entry in listed:
        if isinstance(entry, Trouble):
            files.troubles.append(entry)
            continue
        try:
            files.pieces.append(_read(entry, span))
        except RocmPerfError as error:
            files.troubles.append(Trouble(entry.name, error))
    if window and span is None:
        files.pieces[:] = cut_pieces(window, files.pieces)
    return files


def _listed(path: Path) -> list[Source] | list[Trouble]:
    try:
        return sources_at(path)
    except RocmPerfError as error:
        return [Trouble(str(path), error)]


def _read(source: Source, span: Span | None) -> Piece:
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


def _as_runs(files: _ReadFiles, path: Path, as_one: bool) -> list[Loaded]:
    if not files.pieces:
        raise _nothing(path, files.troubles)
    _require_rows(files.pieces, path)
    groups = group_by_process(placed_in_runs(files.pieces))
    runs = [groups] if as_one else split_runs(groups)
    traces = [merge(groups) for groups in runs]
    if len(traces) == 1:
        return [Loaded(str(path), _with_troubles(traces[0], files.troubles))]
    named = [
        Loaded(_label([piece for group in members for piece in group.pieces]), trace)
        for members, trace in zip(runs, traces, strict=True)
    ]
    return named + [Loaded(t.name, error=t.error) for t in files.troubles if t.is_loss]


def _require_rows(pieces: list[Piece], path: Path) -> None:
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


def _with_troubles(trace: Trace, troubles: list[Trouble]) -> Trace:
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


def _label(pieces: list[Piece]) -> str:
    folder, prefix = pieces[0].place.set_key
    return str(Path(folder) / prefix)


def _enumerate(runs: list[Loaded]) -> str:
    shown = [f"{run.label} ({_length(run.trace)})" for run in runs[:4] if run.trace]
    return ", ".join(shown) + (", ..." if len(runs) > 4 else "")


def _length(trace: Trace) -> str:
    frame = trace.lazy("dispatches").select(pl.col("end_ns").max() - pl.col("start_ns").min()).collect()
    length = frame.item() if frame.height else None
    count = format_count(trace.rows("dispatches"), "dispatch", "dispatches")
    return f"{count} over {format_ns(length)}" if length else count


def _nothing(path: Path, troubles: list[Trouble]) -> RocmPerfError:
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
