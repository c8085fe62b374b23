"""Which runs a folder seems to hold before any of them is read: by where the files lie and what they begin with.

Only reading shows whether files that lie together are one run; `load_together` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf.errors import EmptyCaptureError, NotARecordingError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.own.run_record import is_under_way
from rocm_perf.ingest.paths import sources_at, walk
from rocm_perf.ingest.place import place_of
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model import bundle
from rocm_perf.model.collection import FILE_NAME, CollectionRecord

# Files that describe a machine or a tool: alone, they are not a run.
_BESIDE_RUNS = frozenset(
    {
        "rocprofv3-agents-csv",
        "rocprofv3-json-schema",
        "rocminfo",
        "counter-list",
        "amd-smi-text",
        "amd-smi-json",
        "rocm-smi-table",
        "hipconfig",
        "profiler-help",
    }
)
_ONE_PER_FOLDER = ("att-", "rocprof-compute-")  # formats whose tools give every run a folder of its own
_LARGEST_RECORD_BYTES = 16 << 20


class Glance(msgspec.Struct, frozen=True):
    """What the beginning of a file shows: the format, or why there is none."""

    format: str = ""
    error: RocmPerfError | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether the file has nothing to do with profilers."""
        return isinstance(self.error, NotARecordingError)


class ListedRun(msgspec.Struct, frozen=True):
    """Files that seem to be one run, or the folder of a bundle."""

    name: str
    paths: tuple[Path, ...]
    tool: str
    error: RocmPerfError | None = None
    under_way: bool = False  # rocm-perf is still recording it


def glance(path: Path) -> Glance:
    """What the beginning of a file shows."""
    try:
        adapters = [sniff(source) for source in sources_at(path)]
    except RocmPerfError as error:
        return Glance(error=error)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, RecursionError) as error:
        return Glance(error=NotARecordingError(f"cannot read {path}", str(error).split("\n")[0]))
    if not adapters:
        return Glance(error=EmptyCaptureError(f"{path} holds no file"))
    return Glance(adapters[0].name)


def runs_at(path: Path, accepts: Callable[[Path], bool], look: Callable[[Path], Glance]) -> list[ListedRun]:
    """The runs in a file or below a folder, by name. Files that are not accepted are passed over unopened; `look` is
    `glance`, or remembers what it said."""
    if not path.is_dir():
        seen = look(path)
        return [ListedRun(path.name, (path,), seen.format, seen.error)]
    if bundle.is_bundle(path):
        return [_bundle(path, path.name)]
    content = walk(path)
    files = [file for file in content.files if accepts(file)]
    bundles = [
        _bundle(folder, str(folder.relative_to(path)))
        for folder in content.bundles
        if all(map(accepts, folder.iterdir()))
    ]
    runs = [_run(family, members, path, look) for family, members in _families(files, look).items()]
    return sorted((*bundles, *(run for run in runs if run)), key=lambda run: run.name)


def _bundle(folder: Path, name: str) -> ListedRun:
    try:
        return ListedRun(name, (folder,), bundle.read_manifest(folder).run.tool)
    except RocmPerfError as error:
        return ListedRun(name, (folder,), "", error)


# The folder that files of one run share, or a folder and what their names begin with.
_Family = tuple[Path, str]


def _families(files: Sequence[Path], look: Callable[[Path], Glance]) -> dict[_Family, list[Path]]:
    """The files, in groups that seem to be one run."""
    homes = {file.parent: _run_folder(file) for file in files if file.name == FILE_NAME}
    families: dict[_Family, list[Path]] = {}
    for file in files:
        home = next((homes[folder] for folder in file.parents if folder in homes), None)
        family = (home, "") if home else _family(file, look(file))
        families.setdefault(family, []).append(file)
    return families


def _run_folder(record: Path) -> Path:
    """The folder that the processes of a run of rocm-perf share: RUN_ID in RUN_ID/HOST/rankR-PID/rocm-perf-run.json."""
    described = _record(record)
    shared = record.parents[2] if len(record.parents) > 2 else record.parent
    return shared if described and shared.name == described.run_id else record.parent


def _record(file: Path) -> CollectionRecord | None:
    try:
        if file.stat().st_size > _LARGEST_RECORD_BYTES:
            return None
        return msgspec.json.decode(file.read_bytes(), type=CollectionRecord)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _family(file: Path, seen: Glance) -> _Family:
    if seen.format.startswith(_ONE_PER_FOLDER):
        return file.parent, ""
    place = place_of(Source(file))
    return place.root, "" if place.pid is not None else place.set_key[1]


def _run(
    family: _Family, files: Sequence[Path], top: Path, look: Callable[[Path], Glance]
) -> ListedRun | None:
    """One group as a run; None where nothing in it was recorded by a profiler."""
    seen = {file: look(file) for file in files}
    known = [one for one in seen.values() if one.format and one.format not in _BESIDE_RUNS]
    broken = [one.error for one in seen.values() if one.error and not one.is_foreign]
    if not known and not broken:
        return None
    members = tuple(file for file in files if not seen[file].is_foreign)
    records = [record for file in files if file.name == FILE_NAME and (record := _record(file))]
    return ListedRun(
        name=_name(family, members, top),
        paths=members,
        tool=known[-1].format if known else "",
        error=None if known else broken[0],
        under_way=any(map(is_under_way, records)),
    )


def _name(family: _Family, files: Sequence[Path], top: Path) -> str:
    """The file, or what the names of several share, as seen from the folder at the top."""
    shared = files[0] if len(files) == 1 else family[0] / family[1]
    inside = shared.is_relative_to(top) and shared != top
    return str(shared.relative_to(top)) if inside else top.name
