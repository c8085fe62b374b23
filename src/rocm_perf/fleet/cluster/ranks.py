"""Which files below a folder are the recording of which rank, by where they lie. Nothing is read here."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.errors import EmptyCaptureError, InputError, NotSupportedError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.paths import walk
from rocm_perf.ingest.place import place_of
from rocm_perf.model import bundle
from rocm_perf.model.collection import FILE_NAME

_OF_RANK = re.compile(r"rank(\d+)-\d+(?:\.\d+)?")
_MOST_FILES = 1_000_000  # of a job: a hundred for each of 10,000 ranks


@dataclass(frozen=True)
class RankFiles:
    """The files of one rank, or its bundle; `place` is its position in the list of ranks."""

    place: int
    label: str
    paths: tuple[Path, ...]

    @property
    def argument(self) -> str:
        """How a command line names it: by its folder or bundle, else by its files."""
        label = Path(self.label)
        has_folder = all(label == path or label in path.parents for path in self.paths)
        return shlex.join([self.label] if has_folder else map(str, self.paths))


def ranks_at(folder: Path) -> list[RankFiles]:
    """The ranks below a folder, in the order of their paths; raises where there is none, or where files are passes of
    one rank that only reading can join."""
    if not folder.exists():
        raise InputError(f"{folder} does not exist", next_step="Check the path.")
    if not folder.is_dir() or bundle.is_bundle(folder):
        return [RankFiles(0, str(folder), (folder.resolve(),))]
    content = walk(folder.resolve(), _MOST_FILES)
    families = {str(path): [path] for path in content.bundles}
    for file, family in _families(content.files).items():
        families.setdefault(family, []).append(file)
    if not families:
        raise EmptyCaptureError(
            f"{folder} is empty", "the profiler wrote nothing there", "Check what it printed when it ran."
        )
    return [
        RankFiles(place, name, tuple(paths)) for place, (name, paths) in enumerate(sorted(families.items()))
    ]


def _families(files: list[Path]) -> dict[Path, str]:
    """The rank that each file belongs to: the folder that rocm-perf recorded it into, else folder and prefix."""
    homes = _first_launches(sorted(file.parent for file in files if file.name == FILE_NAME))
    families = {}
    for file in files:
        home = next((folder for folder in file.parents if folder in homes), None)
        families[file] = str(homes[home]) if home else _prefix(file)
    return families


def _first_launches(homes: list[Path]) -> dict[Path, Path]:
    """The folder that stands for the rank, for each folder that rocm-perf recorded into: a rank has one for each of its
    launches, RUN/HOST/rankR-PID."""
    first: dict[tuple[Path, str], Path] = {}
    standing = {}
    for home in homes:
        rank = _OF_RANK.fullmatch(home.name)
        standing[home] = first.setdefault((home.parent.parent, rank[1]), home) if rank else home
    return standing


def _prefix(file: Path) -> str:
    place = place_of(Source(file))
    if place.pass_id is not None:
        raise NotSupportedError(
            f"{file} is one of several passes",
            "which passes are of one rank shows only when all of them are read",
            "Analyse this folder without --cluster.",
        )
    folder, prefix = place.set_key
    return str(Path(folder) / prefix)
