"""From paths to Traces: a file, a compressed file, a zip, a folder of one run, or a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError, UsageError
from rocm_perf.ingest.io.source import Source, sources_of
from rocm_perf.ingest.merge import merge
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.runs import Piece, group_by_process, split_runs
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model import bundle
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


def load(path: Path) -> Trace:
    """The one run at `path`; raises if there is none, or more than one."""
    runs = load_path(path)
    if len(runs) > 1:
        raise UsageError(
            f"{path} holds {len(runs)} runs, not one",
            _enumerate(runs),
            "Name one of them, or add --each to report on all.",
        )
    if runs[0].error:
        raise runs[0].error
    assert runs[0].trace is not None
    return runs[0].trace


def load_path(path: Path) -> list[Loaded]:
    """Every run at `path`, which may be a file or a folder."""
    if not path.exists():
        raise InputError(f"{path} does not exist", next_step="Check the path.")
    if path.is_dir():
        return _load_folder(path)
    pieces, troubles = _read_all(_sources(path))
    if not pieces:
        raise troubles[0][1] if len(troubles) == 1 else _nothing(path, troubles)
    return _as_runs(pieces, troubles, str(path))


def load_files(paths: list[Path]) -> list[Loaded]:
    """Runs of several named paths. Files of one process (same folder and prefix) make one run; every other
    path stands for itself, and a bad one does not keep the others from being read."""
    results: list[Loaded] = []
    families: dict[object, list[Path]] = {}
    for path in paths:
        key: object = path if path.is_dir() or not path.exists() else place_of(Source(path)).set_key
        families.setdefault(key, []).append(path)
    for members in families.values():
        results.extend(_load_family(members))
    return results


def _load_family(paths: list[Path]) -> list[Loaded]:
    try:
        if len(paths) == 1:
            return load_path(paths[0])
        pieces, troubles = _read_all([source for path in paths for source in _sources(path)])
        bad = [Loaded(source.name, error=error) for source, error in troubles]
        if not pieces:
            return bad
        return [Loaded(_label(pieces), merge(group_by_process(pieces))), *bad]
    except RocmPerfError as error:
        return [Loaded(str(paths[0]), error=error)]


def _load_folder(folder: Path) -> list[Loaded]:
    if bundle.is_bundle(folder):
        return [Loaded(str(folder), bundle.read(folder))]
    bundles = sorted(
        path.parent for path in folder.glob(f"*/{bundle.MANIFEST}") if not path.parent.name.startswith(".")
    )
    runs = [Loaded(str(path), bundle.read(path)) for path in bundles if _is_ours(path)]
    inside = set(bundles)
    files = [path for path in _walk(folder) if not any(parent in inside for parent in path.parents)]
    pieces, troubles = _read_all([source for path in files for source in _sources(path)])
    if not pieces and not runs:
        raise _nothing(folder, troubles)
    return runs + (_as_runs(pieces, troubles, str(folder)) if pieces else [])


def _is_ours(folder: Path) -> bool:
    try:
        bundle.read_manifest(folder)
    except InputError:
        return False
    return True


def _walk(folder: Path) -> list[Path]:
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            found.append(path)
        if len(found) > MAX_FILES:
            raise InputError(
                f"{folder} holds more than {MAX_FILES:,} files", next_step="Name the folder of one run."
            )
    return found


def _sources(path: Path) -> list[Source]:
    try:
        return sources_of(path)
    except OSError as error:
        raise InputError(
            f"cannot read {path}", error.strerror or str(error), "Check its access rights."
        ) from error


def _read_all(sources: list[Source]) -> tuple[list[Piece], list[tuple[Source, RocmPerfError]]]:
    pieces, troubles = [], []
    for source in sources:
        try:
            adapter = sniff(source)
            pieces.append(Piece(source, adapter, adapter.read(source), place_of(source)))
        except RocmPerfError as error:
            troubles.append((source, error))
        except MemoryError:
            troubles.append(
                (
                    source,
                    InputError(
                        f"{source.name} does not fit into memory", next_step="Read it on a larger machine."
                    ),
                )
            )
    return pieces, troubles


def _as_runs(pieces: list[Piece], troubles: list[tuple[Source, RocmPerfError]], label: str) -> list[Loaded]:
    runs = split_runs(group_by_process(pieces))
    traces = [merge(groups) for groups in runs]
    if len(traces) == 1:
        return [Loaded(label, _with_troubles(traces[0], troubles))]
    return [
        Loaded(_label([p for group in groups for p in group.pieces]), trace)
        for groups, trace in zip(runs, traces, strict=True)
    ]


def _with_troubles(trace: Trace, troubles: list[tuple[Source, RocmPerfError]]) -> Trace:
    """Files beside the recording that were not read: a loss if broken, a notice if foreign."""
    if not troubles:
        return trace
    losses = tuple(Loss(source.name, str(error)) for source, error in troubles if _is_recording(error))
    foreign = [source.file_name for source, error in troubles if not _is_recording(error)]
    notices = (_not_read(foreign),) if foreign else ()
    run = msgspec.structs.replace(
        trace.run, losses=trace.run.losses + losses, notices=trace.run.notices + notices
    )
    return Trace({name: trace.table(name) for name in trace}, run)


def _not_read(names: list[str]) -> str:
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{format_count(len(names), 'file')} beside it not read: {shown}"


def _is_recording(error: RocmPerfError) -> bool:
    return "is not a recording" not in error.what


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


def _nothing(path: Path, troubles: list[tuple[Source, RocmPerfError]]) -> RocmPerfError:
    """Why a folder or an archive gave nothing."""
    if not troubles:
        return EmptyCaptureError(
            f"{path} is empty", "the profiler wrote nothing there", "Check what it printed when it ran."
        )
    first = troubles[0][1]
    kind = (
        EmptyCaptureError
        if all(isinstance(error, EmptyCaptureError) for _, error in troubles)
        else InputError
    )
    return kind(
        f"{path} holds no readable recording", f"of {format_count(len(troubles), 'file')}, the first: {first}"
    )
