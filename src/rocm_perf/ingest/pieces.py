"""A recording larger than memory, read window by window into a bundle. Rows go to disk as they are read; what stays in
memory to the end is what has no time of its own, and ranges, whose depth takes all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.load import load, made_whole, part_of
from rocm_perf.ingest.merge import KEYED, first_known
from rocm_perf.ingest.nesting import with_depth
from rocm_perf.model import bundle
from rocm_perf.model.bundle import Manifest
from rocm_perf.model.run import RunInfo
from rocm_perf.model.time_window import UNCUT, TimeWindow, moment_of
from rocm_perf.model.trace import Trace


def windows_at(path: Path, windows: Sequence[TimeWindow], *, as_one: bool = False) -> Iterator[Trace]:
    """The windows of the one run at `path` in which something starts; raises if there is none."""
    nothing: EmptyCaptureError | None = None
    any_yet = False
    for window in windows:
        try:
            yield load(path, as_one=as_one, window=window)
            any_yet = True
        except EmptyCaptureError as error:
            nothing = error
    if nothing and not any_yet:
        raise nothing


def write_in_pieces(
    pieces: Iterable[Trace], folder: Path, *, part: TimeWindow | None = None, overwrite: bool = False
) -> Manifest:
    """The bundle of a run, of which one window at a time is in memory; together they are all of it, or the `part` of it
    that is wanted."""
    runs: list[RunInfo] = []
    held: dict[str, list[pl.DataFrame]] = {}
    with bundle.writing(folder, overwrite=overwrite) as draft:
        for piece in pieces:
            runs.append(piece.run)
            for name in piece:
                if moment_of(name) and name != "ranges":
                    draft.append(name, piece.table(name))
                else:
                    _hold(held.setdefault(name, []), piece.table(name))
            del piece  # else it stays in memory while the next one is read
        for name, frames in held.items():
            draft.append(name, _joined(name, frames))
        run = made_whole(runs)
        return draft.finish(part_of(run, part) if part else run)


def _hold(frames: list[pl.DataFrame], rows: pl.DataFrame) -> None:
    """Keep the rows, unless another window had the same: what has no time comes with each of them."""
    if not any(rows.equals(frame) for frame in frames):
        frames.append(rows)


def _joined(table: str, frames: list[pl.DataFrame]) -> pl.DataFrame:
    """What the windows hold of a table, once."""
    rows = pl.concat(frames)
    if table == "ranges":
        return with_depth(rows)
    if len(frames) == 1:
        return rows
    if table in KEYED:
        return first_known(rows, KEYED[table])
    if table in UNCUT:
        lasted = [pl.col("start_ns").min(), pl.col("end_ns").max()]
        others = [name for name in rows.columns if name not in ("start_ns", "end_ns")]
        return rows.group_by(others, maintain_order=True).agg(lasted).select(rows.columns)
    return rows.unique(maintain_order=True)
