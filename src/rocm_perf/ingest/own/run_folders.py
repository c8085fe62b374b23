"""Folders that rocm-perf recorded, `RUN_ID/HOST/rankR-PID/pass_N/`: their record says which run, host, rank and
pass a file belongs to, and which passes count."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rocm_perf.ingest.processes import Piece
from rocm_perf.model.collection import FILE_NAME, LAUNCH_FILE_NAME, SNAPSHOT, CollectionRecord, PassRecord

_PASS = re.compile(r"pass_(\d{1,6})")
_PROCESS = re.compile(
    r"rank(\d{0,6})-(\d{1,10})"
)  # the profiler's own files, and our folder without the suffix
_INPUTS = ("counters.txt", "application.sh")  # written for a profiler, not by one
_REPORTS = (
    "profile.json",
    "roofline.json",
    "dag.json",
    "analysis.json",
)  # what analyses of ours leave beside a run
_PRODUCER = b'"producer": "rocm-perf'
_LEVELS = 2  # from the folder of a process up to that of its run


class _Home(msgspec.Struct, frozen=True):
    """The folder of one process of rocm-perf."""

    folder: Path
    record: CollectionRecord

    @property
    def run(self) -> str:
        """The folder of the run, which ranks and hosts share; its own folder if it was moved out of there."""
        folders = self.folder.parents
        shared = len(folders) >= _LEVELS and folders[1].name == self.record.run_id
        return str(folders[1] if shared else self.folder)

    def pass_of(self, piece: Piece) -> PassRecord | None:
        """The pass that a file comes from; None for files beside the passes."""
        inside = piece.source.folder.relative_to(self.folder).as_posix()
        return next(
            (
                done
                for done in self.record.passes
                if done.folder and (inside == done.folder or inside.startswith(f"{done.folder}/"))
            ),
            None,
        )


def is_input(file: Path) -> bool:
    """Whether the file is input that rocm-perf wrote for a profiler."""
    return file.name in _INPUTS and _PASS.fullmatch(file.parent.name) is not None


def is_report(file: Path) -> bool:
    """Whether the file is an analysis that rocm-perf wrote, and no recording."""
    if file.name not in _REPORTS:
        return False
    try:
        with file.open("rb") as opened:
            return _PRODUCER in opened.read(200)
    except OSError:
        return False


def is_snapshot(folder: Path, name: str) -> bool:
    """Whether a folder beside a run's record holds a second copy of what the run recorded, read if it is named."""
    return re.fullmatch(rf"{SNAPSHOT}\d+", name) is not None and (folder / FILE_NAME).is_file()


def is_launch(folder: Path) -> bool:
    """Whether a folder holds how a run was launched: a script, what a job printed, no recording."""
    return (folder / LAUNCH_FILE_NAME).is_file()


def placed_in_runs(pieces: list[Piece]) -> list[Piece]:
    """The pieces, with the run, host, rank and pass of those that rocm-perf recorded; those of an abandoned pass are
    left out."""
    homes = [
        _Home(piece.source.folder, record)
        for piece in pieces
        if (record := piece.part.collection) is not None
    ]
    if not homes:
        return pieces
    kept = []
    for piece in pieces:
        home = next((home for home in homes if _lies_in(piece, home)), None)
        placed = piece if home is None else _placed(piece, home)
        if placed is not None:
            kept.append(placed)
    return kept


def _lies_in(piece: Piece, home: _Home) -> bool:
    return piece.source.folder == home.folder or home.folder in piece.source.folder.parents


def _placed(piece: Piece, home: _Home) -> Piece | None:
    record = home.record
    done = home.pass_of(piece)
    inside = piece.source.folder.relative_to(home.folder).parts
    if done is not None and done.outcome not in ("recorded", "partly"):
        return None
    if done is None and inside and record.state != "running":
        return None  # of a run that the record does not count
    number = _PASS.fullmatch(inside[0]) if inside else None
    process = _PROCESS.fullmatch(piece.place.set_key[1])
    rank, pid = process.groups() if process else ("", "")
    return replace(
        piece,
        place=replace(
            piece.place,
            root=Path(home.run),
            run=home.run,
            host=record.host,
            pass_id=int(number.group(1)) if number else None,
            rank=int(rank) if rank else record.rank,
            pid=int(pid) if pid else None if process else piece.place.pid,
        ),
    )
