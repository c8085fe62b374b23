"""From paths to Traces: a file, a compressed file, a zip, a folder of one run, or a bundle."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError, NotARecordingError, RocmPerfError, UsageError
from rocm_perf.ingest.io.source import Source, sources_of
from rocm_perf.ingest.merge import merge
from rocm_perf.ingest.own.run_folders import is_input, is_snapshot, placed_in_runs
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.runs import Piece, group_by_process, split_runs
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model import bundle
from rocm_perf.model.bounds import bounded
from rocm_perf.model.run import Loss
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns

MAX_FILES = 20_000


@dataclass(frozen=True)
class Loaded:
    """One run, or why it could not be read."""

    label: str
    trace: Trace | None = None
    error: RocmPerfError | None = None


@dataclass(frozen=True)
class _Trouble:
    """A file from which nothing was read, and why."""

    name: str
    error: RocmPerfError

    @property
    def file_name(self) -> str:
        return self.name.rsplit("/", 1)[-1]

    @property
    def is_loss(self) -> bool:
        """Whether the file is, or may be, a recording with content that could not be read."""
        return not isinstance(self.error, NotARecordingError | EmptyCaptureError)


@dataclass(frozen=True)
class _ReadFiles:
    """What was read from some files."""

    pieces: list[Piece] = field(default_factory=list)
    troubles: list[_Trouble] = field(default_factory=list)


@dataclass(frozen=True)
class _FolderContent:
    """The files and bundles in a folder."""

    files: list[Path] = field(default_factory=list)
    bundles: list[Path] = field(default_factory=list)
    troubles: list[_Trouble] = field(default_factory=list)


def load(path: Path, *, as_one: bool = False) -> Trace:
    """The one run at `path`; raises if there is none, or more than one (unless all files are to be `as_one`)."""
    loaded = load_path(path, as_one=as_one)
    runs = [run for run in loaded if run.trace]
    if len(runs) > 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs, not one",
            _enumerate(runs),
            "Name one of them, add --each to report on each, or --as-one if they belong together.",
        )
    if not runs:
        raise next(run.error for run in loaded if run.error)
    trace = runs[0].trace
    assert trace is not None
    return trace


def load_path(path: Path, *, as_one: bool = False) -> list[Loaded]:
    """Every run at `path`, which may be a file or a folder; `as_one` takes all files as one run."""
    if not os.path.exists(path):
        raise InputError(f"{path} does not exist", next_step="Check the path.")
    if path.is_dir():
        return _load_folder(path, as_one)
    files = _read_all([path])
    if not files.pieces and len(files.troubles) == 1:
        raise files.troubles[0].error
    return _as_runs(files, path, as_one)


def load_files(paths: list[Path]) -> list[Loaded]:
    """Runs of several named paths. Files of one process (same folder and prefix) make one run; every other path is on
    its own, and a bad one does not keep the others from being read."""
    results: list[Loaded] = []
    families: dict[object, list[Path]] = {}
    for path in dict.fromkeys(paths):
        key: object = place_of(Source(path)).set_key if os.path.isfile(path) else path
        families.setdefault(key, []).append(path)
    for members in families.values():
        results.extend(_load_family(members))
    return results


def _load_family(paths: list[Path]) -> list[Loaded]:
    try:
        if len(paths) == 1:
            return load_path(paths[0])
        files = _read_all(paths)
        bad = [Loaded(trouble.name, error=trouble.error) for trouble in files.troubles]
        if not files.pieces:
            return bad
        _require_rows(files.pieces, paths[0])
        return [Loaded(_label(files.pieces), merge(group_by_process(files.pieces))), *bad]
    except RocmPerfError as error:
        return [Loaded(str(paths[0]), error=error)]


def _load_folder(folder: Path, as_one: bool) -> list[Loaded]:
    if bundle.is_bundle(folder):
        return [Loaded(str(folder), bundle.read(folder))]
    content = _walk(folder)
    runs = [_load_bundle(path) for path in content.bundles]
    files = _read_all(content.files)
    files.troubles.extend(content.troubles)
    if runs and not files.pieces:
        return runs
    return runs + _as_runs(files, folder, as_one)


def _load_bundle(folder: Path) -> Loaded:
    try:
        return Loaded(str(folder), bundle.read(folder))
    except RocmPerfError as error:
        return Loaded(str(folder), error=error)


def _walk(folder: Path) -> _FolderContent:
    """Plain files and bundles below a folder. Hidden ones (such as a half-written bundle) and linked folders are
    skipped; pipes, devices and broken links are reported."""
    content = _FolderContent()

    def cannot_list(error: OSError) -> None:
        name = str(error.filename)
        content.troubles.append(
            _Trouble(name, InputError(f"cannot read {name}", error.strerror or str(error)))
        )

    for root, folders, names in os.walk(folder, onerror=cannot_list):
        here = Path(root)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not is_snapshot(here, name)
        )
        if here != folder and bundle.is_bundle(here):
            content.bundles.append(here)
            folders.clear()
            continue
        files = (here / name for name in sorted(names) if not name.startswith("."))
        for path in files:
            if os.path.isfile(path):
                content.files.extend([] if is_input(path) else [path])
            else:
                content.troubles.append(_Trouble(str(path), _not_a_file(path)))
        if len(content.files) > MAX_FILES:
            raise InputError(
                f"{folder} holds more than {MAX_FILES:,} files", next_step="Name the folder of one run."
            )
    content.files.sort()
    return content


def _sources(path: Path) -> list[Source]:
    if os.path.exists(path) and not os.path.isfile(path):
        raise _not_a_file(path)
    try:
        return sources_of(path)
    except OSError as error:
        raise InputError(
            f"cannot read {path}", error.strerror or str(error), "Check its access rights."
        ) from error


def _not_a_file(path: Path) -> InputError:
    if not os.path.exists(path):
        return NotARecordingError(f"{path} is a broken link")
    return NotARecordingError(
        f"{path} is not a file", "a pipe or device can be read only once", "Save it to a file first."
    )


def _read_all(paths: list[Path]) -> _ReadFiles:
    files = _ReadFiles()
    for path in paths:
        try:
            sources = _sources(path)
        except RocmPerfError as error:
            files.troubles.append(_Trouble(str(path), error))
            continue
        for source in sources:
            try:
                files.pieces.append(_read(source))
            except RocmPerfError as error:
                files.troubles.append(_Trouble(source.name, error))
    return files


def _read(source: Source) -> Piece:
    try:
        adapter = sniff(source)
        part = _within_bounds(adapter.read(source), source.name)
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
        f"{path} holds no record", "the profiler recorded nothing", "Check what it printed when it ran."
    )


def _with_troubles(trace: Trace, troubles: list[_Trouble]) -> Trace:
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
    return Trace({name: trace.table(name) for name in trace}, run)


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


def _nothing(path: Path, troubles: list[_Trouble]) -> RocmPerfError:
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
