"""Recordings of the ranks of one job, wherever they lie, as one Trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rocm_perf.errors import InputError, NotARecordingError, RocmPerfError, SeveralRunsError
from rocm_perf.ingest.bundles import bundle_piece
from rocm_perf.ingest.merge import merge
from rocm_perf.ingest.own.run_folders import placed_in_runs
from rocm_perf.ingest.paths import Trouble, walk
from rocm_perf.ingest.processes import Group, Piece, group_by_process
from rocm_perf.ingest.reading import ReadFiles, nothing_read, read_all, require_rows, with_troubles
from rocm_perf.ingest.runs import split_runs
from rocm_perf.model import bundle
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count


def load_job(paths: Sequence[Path]) -> Trace:
    """All recordings at the paths (files, folders, bundles) as one job, on one clock as far as that is possible. One
    that cannot be read becomes a loss of the others. Raises if they are several runs, or none."""
    for path in paths:
        if not os.path.exists(path):
            raise InputError(f"{path} does not exist", next_step="Check the path.")
    files = _read(list(dict.fromkeys(paths)))
    where = Path(os.path.commonpath([os.path.abspath(path) for path in paths]))
    if not files.pieces:
        raise nothing_read(where, files.troubles)
    require_rows(files.pieces, where)
    runs = split_runs(group_by_process(placed_in_runs(files.pieces)))
    if len(runs) > 1:
        raise SeveralRunsError(
            f"these are {len(runs)} runs, not one job",
            tuple(map(_described, runs)),
            "Name the recordings of one of them, each rank once.",
        )
    return with_troubles(merge(runs[0]), files.troubles)


def _read(paths: list[Path]) -> ReadFiles:
    named = [path for path in paths if not path.is_dir()]
    contents = [walk(path) for path in paths if path.is_dir() and not bundle.is_bundle(path)]
    bundles = [path for path in paths if bundle.is_bundle(path)]
    bundles += [path for content in contents for path in content.bundles]
    files = read_all(named + [path for content in contents for path in content.files])
    files.troubles.extend(trouble for content in contents for trouble in content.troubles)
    for path in dict.fromkeys(bundles):
        try:
            files.pieces.append(_piece(path))
        except RocmPerfError as error:
            files.troubles.append(Trouble(str(path), error))
    return files


def _piece(path: Path) -> Piece:
    """The recording in a bundle; raises if it is of several ranks, as what a merge wrote is."""
    trace = bundle.read(path)
    if trace.has("clocks"):
        raise NotARecordingError(f"{path} is of several ranks already", "it would count them twice")
    return bundle_piece(str(path), trace)


def _described(run: list[Group]) -> str:
    """A run in a few words: its ranks, and where the first of them lies."""
    ranks = sorted({group.rank for group in run if group.rank is not None})
    name = run[0].pieces[0].source.name
    if not ranks:
        return f"{name} (without a rank)"
    named = (
        f"rank {ranks[0]}" if len(ranks) == 1 else f"{format_count(len(ranks), 'rank')} from {ranks[0]} on"
    )
    return f"{name} ({named})"
