"""From paths to Traces: a file, a compressed file, a zip, a folder of one run, or a bundle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl
from msgspec.structs import replace

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError, SeveralRunsError
from rocm_perf.ingest.bundles import rank_piece
from rocm_perf.ingest.captures.runs import (
    is_use_of,
    no_capture,
    replays_graphs,
    require_captures,
    with_captures,
)
from rocm_perf.ingest.helpers import expect_files
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.merge import merge
from rocm_perf.ingest.nvidia.ncu import NAME as NCU
from rocm_perf.ingest.own.run_folders import placed_in_runs
from rocm_perf.ingest.paths import walk
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.processes import TIMED, Group, Piece, group_by_process
from rocm_perf.ingest.reading import ReadFiles, nothing_read, read_all, require_rows, with_troubles
from rocm_perf.ingest.runs import split_runs
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model import bundle
from rocm_perf.model.run import RunInfo
from rocm_perf.model.time_window import TimeWindow
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns

# What a run is said to hold: the first of these tables that it has.
_CONTENTS = (
    ("dispatches", "dispatch", "dispatches"),
    ("ops", "operator call", "operator calls"),
    ("api_calls", "API call", "API calls"),
    ("ranges", "range", "ranges"),
    ("copies", "copy", "copies"),
    ("pc_samples", "PC sample", "PC samples"),
    ("summaries", "row of statistics", "rows of statistics"),
    ("metrics", "metric", "metrics"),
    ("allocations", "allocation", "allocations"),
    ("instructions", "instruction", "instructions"),
    ("samples", "reading of sensors", "readings of sensors"),
)


class Loaded(msgspec.Struct, frozen=True):
    """One run, or why it could not be read; of a file in which nothing was recorded, both."""

    label: str
    trace: Trace | None = None
    error: RocmPerfError | None = None


def load(
    path: Path, *, as_one: bool = False, window: TimeWindow | None = None, captures: Sequence[Path] = ()
) -> Trace:
    """The one run at `path`, or a window of it; raises if there is none, or more than one (unless all files are to be
    `as_one`). Its graph replays are joined with `captures` and with those that lie beside it."""
    loaded = load_path(path, as_one=as_one, window=window, captures=captures)
    runs = [run for run in loaded if run.trace]
    if len(runs) > 1:
        raise SeveralRunsError(
            f"{path} holds {len(runs)} runs, not one",
            tuple(_described(run.trace) for run in runs if run.trace),
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
    _require_there([*captures, path])
    expect_files(captures)
    given = load_captures(captures)  # first: a helper may be reading the recording meanwhile
    return _joined(_load_one(path, as_one=as_one, window=window), given)


def _load_one(path: Path, *, as_one: bool = False, window: TimeWindow | None = None) -> list[Loaded]:
    _require_there([path])
    if window is None:
        return _load_whole(path, as_one)
    try:
        loaded = _load_whole(path, as_one, window)
    except EmptyCaptureError as error:
        raise _nothing_in(window, path) from error
    return [_marked(run, window) for run in loaded]


def _require_there(paths: Sequence[Path]) -> None:
    for path in paths:
        if not os.path.exists(path):
            raise InputError(f"{path} does not exist", next_step="Check the path.")


def load_captures(paths: Sequence[Path]) -> list[Trace]:
    """The recordings of captures at the paths, each once; raises where a path holds none."""
    captures: list[Trace] = []
    for path in {os.path.realpath(path): path for path in paths}.values():
        try:
            traces = [run.trace for run in _load_one(path) if run.trace]
        except EmptyCaptureError as error:
            raise no_capture(str(path), "nothing is recorded in it") from error
        require_captures(traces, str(path))
        captures += [trace for trace in traces if trace.has("captured_launches")]
    return captures


def _joined(runs: list[Loaded], given: Sequence[Trace]) -> list[Loaded]:
    """The runs, with graph replays joined with the captures that were given and with those runs that captured them,
    which are left out of the list."""
    capturing = _capturing(runs)
    executions = [run for run in runs if run not in capturing]
    if not any(map(_replays, executions)):
        return [_with_captures(run, [], given) for run in runs]
    captures = [run.trace for run in capturing if run.trace]
    joined = [_with_captures(run, captures, given) for run in executions]
    return [*joined, *(run for run in capturing if _is_of_its_own(run, joined))]


def _capturing(runs: Sequence[Loaded]) -> list[Loaded]:
    """The runs that captured graphs for others: all that captured some, if one of the others replays any; else those
    that replayed none."""
    captured = [run for run in runs if run.trace and run.trace.has("captured_launches")]
    others = [run for run in runs if run not in captured]
    return captured if any(map(_replays, others)) else [run for run in captured if not _replays(run)]


def _replays(run: Loaded) -> bool:
    return run.trace is not None and replays_graphs(run.trace)


def _is_of_its_own(run: Loaded, executions: Sequence[Loaded]) -> bool:
    """Whether a run that captured graphs replays them too, and none of the executions does."""
    assert run.trace is not None
    used = any(is_use_of(run.trace, other.trace) for other in executions if other.trace)
    return _replays(run) and not used


def _with_captures(run: Loaded, beside: Sequence[Trace], given: Sequence[Trace]) -> Loaded:
    return replace(run, trace=with_captures(run.trace, beside, given)) if run.trace else run


def _load_whole(path: Path, as_one: bool, window: TimeWindow | None = None) -> list[Loaded]:
    if path.is_dir():
        return _load_folder(path, as_one, window)
    files = read_all([path], window)
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
    """Runs of several named paths. Files of one process (same folder and prefix) make one run, and Nsight Compute's
    counters belong to the run whose kernels they count; every other path is on its own, and a bad one does not keep the
    others from being read. Graph replays are joined with `captures` and with those among the runs, which are then left
    out."""
    _require_there(captures)
    expect_files([*paths[1:], *captures])
    if (counted := _with_counters(paths)) is not None:
        return _joined([counted], load_captures(captures))
    results: list[Loaded] = []
    families: dict[object, list[Path]] = {}
    for path in dict.fromkeys(paths):
        key: object = place_of(Source(path)).set_key if os.path.isfile(path) else path
        families.setdefault(key, []).append(path)
    for members in families.values():
        results.extend(_load_family(members))
    return _joined(results, load_captures(captures))


def _with_counters(paths: list[Path]) -> Loaded | None:
    """The one run of a recording and of Nsight Compute's counters of its kernels; None where the paths are not that."""
    counted = [path for path in paths if _is_of_ncu(path)]
    timed = [path for path in paths if path not in counted]
    if not counted or len(timed) != 1 or bundle.is_bundle(timed[0]):
        return None
    try:
        files = read_all([*(walk(timed[0]).files if os.path.isdir(timed[0]) else timed), *counted])
        runs = split_runs(group_by_process(placed_in_runs(files.pieces)))
        if len(runs) != 1 or files.troubles or not any(group.span for group in runs[0]):
            return None
        return Loaded(str(timed[0]), merge(runs[0]))
    except RocmPerfError:
        return None  # each path then says for itself what is wrong


def _is_of_ncu(path: Path) -> bool:
    try:
        return os.path.isfile(path) and sniff(Source(path)).name == NCU
    except RocmPerfError:
        return False


def load_together(paths: Sequence[Path]) -> list[Loaded]:
    """The runs in files that lie together, usually one; or that of a bundle."""
    if len(paths) == 1:
        return load_path(paths[0])
    return _joined(_as_runs(read_all(list(paths)), Path(os.path.commonpath(paths)), as_one=False), ())


def _load_family(paths: list[Path]) -> list[Loaded]:
    try:
        if len(paths) == 1:
            return _load_one(paths[0])
        files = read_all(paths)
        bad = [Loaded(trouble.name, error=trouble.error) for trouble in files.troubles]
        if not files.pieces:
            return bad
        require_rows(files.pieces, paths[0])
        return [_merged(group_by_process(files.pieces)), *bad]
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
    runs = _load_bundles(content.bundles, window)
    files = read_all(content.files, window)
    files.troubles.extend(content.troubles)
    if runs and not files.pieces:
        return runs
    return runs + _as_runs(files, folder, as_one)


def _bundled(folder: Path, window: TimeWindow | None) -> Trace:
    trace = bundle.read(folder)
    return trace if window is None else trace.part(window)


def _load_bundles(folders: list[Path], window: TimeWindow | None) -> list[Loaded]:
    """The runs in bundles: one of each, and one of all that hold ranks of one job."""
    runs = [_load_bundle(folder, window) for folder in folders]
    pieces = {run.label: piece for run in runs if run.trace and (piece := rank_piece(run.label, run.trace))}
    jobs = [job for job in split_runs(group_by_process(list(pieces.values()))) if len(job) > 1]
    merged = [piece.source.name for job in jobs for group in job for piece in group.pieces]
    return [run for run in runs if run.label not in merged] + [_merged(job) for job in jobs]


def _load_bundle(folder: Path, window: TimeWindow | None) -> Loaded:
    try:
        return Loaded(str(folder), _bundled(folder, window))
    except RocmPerfError as error:
        return Loaded(str(folder), error=error)


def _as_runs(files: ReadFiles, path: Path, as_one: bool) -> list[Loaded]:
    if not files.pieces:
        raise nothing_read(path, files.troubles)
    require_rows(files.pieces, path)
    groups = group_by_process(placed_in_runs(files.pieces))
    runs = [groups] if as_one else split_runs(groups)
    if len(runs) == 1:
        return [Loaded(str(path), with_troubles(merge(runs[0]), files.troubles))]
    return [_merged(members) for members in runs] + [
        Loaded(trouble.name, error=trouble.error) for trouble in files.troubles if trouble.is_loss
    ]


def _merged(groups: list[Group]) -> Loaded:
    """One of several runs, or why it is none."""
    label = _label([piece for group in groups for piece in group.pieces])
    try:
        return Loaded(label, merge(groups))
    except RocmPerfError as error:
        return Loaded(label, error=error)


def _label(pieces: list[Piece]) -> str:
    folder, prefix = pieces[0].place.set_key
    return str(Path(folder) / prefix)


def _described(trace: Trace) -> str:
    """A run in a line: its first file, how many more it has, the tool, and how much of what it holds."""
    first, *others = trace.run.sources
    more = f" and {format_count(len(others), 'more file')}" if others else ""
    return f"{first.path}{more} ({trace.run.tool}, {_content(trace)})"


def _content(trace: Trace) -> str:
    """What a run mainly holds, and over what time."""
    for name, one, several in _CONTENTS:
        if count := trace.rows(name):
            return format_count(count, one, several) + _length(trace, name)
    return "a description of a machine"


def _length(trace: Trace, table: str) -> str:
    if not {"start_ns", "end_ns"} <= set(trace.lazy(table).collect_schema()):
        return ""
    length = trace.lazy(table).select(pl.col("end_ns").max() - pl.col("start_ns").min()).collect().item()
    return f" over {format_ns(length)}" if length else ""
