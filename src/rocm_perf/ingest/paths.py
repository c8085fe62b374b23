"""The files at a path that may be recordings, and those that cannot be."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rocm_perf.errors import EmptyCaptureError, InputError, NotARecordingError, RocmPerfError
from rocm_perf.ingest.io.source import Source, sources_of
from rocm_perf.ingest.own.run_folders import is_input, is_launch, is_report, is_snapshot
from rocm_perf.model import bundle

MAX_FILES = 20_000
_LOG = re.compile(r"-(?:wal|shm|journal)$")  # what SQLite puts beside a database


class Trouble(msgspec.Struct, frozen=True):
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


class FolderContent(msgspec.Struct, frozen=True):
    """The files and bundles in a folder."""

    files: list[Path] = msgspec.field(default_factory=list)
    bundles: list[Path] = msgspec.field(default_factory=list)
    troubles: list[Trouble] = msgspec.field(default_factory=list)


def walk(folder: Path, most: int | None = None) -> FolderContent:
    """Plain files and bundles below a folder. Hidden ones (such as a half-written bundle) and linked folders are
    skipped; pipes, devices and broken links are reported. Raises if there are more than `most` files (MAX_FILES)."""
    content = FolderContent()
    limit = MAX_FILES if most is None else most

    def cannot_list(error: OSError) -> None:
        name = str(error.filename)
        content.troubles.append(
            Trouble(name, InputError(f"cannot read {name}", error.strerror or str(error)))
        )

    for root, folders, names in os.walk(folder, onerror=cannot_list):
        here = Path(root)
        folders[:] = sorted(
            name
            for name in folders
            if not (name.startswith(".") or is_snapshot(here, name) or is_launch(here / name))
        )
        if here != folder and bundle.is_bundle(here):
            content.bundles.append(here)
            folders.clear()
            continue
        kept = without_logs(name for name in names if not name.startswith("."))
        files = (here / name for name in sorted(kept))
        for path in files:
            if os.path.isfile(path):
                content.files.extend([] if is_input(path) or is_report(path) else [path])
            else:
                content.troubles.append(Trouble(str(path), _not_a_file(path)))
        if len(content.files) > limit:
            raise InputError(
                f"{folder} holds more than {limit:,} files", next_step="Name the folder of one run."
            )
    content.files.sort()
    return content


def without_logs(names: Iterable[str]) -> list[str]:
    """The names without the logs of databases among them, which are read with their database."""
    present = set(names)
    return [name for name in present if not (_LOG.search(name) and _LOG.sub("", name) in present)]


def sources_at(path: Path) -> list[Source]:
    if os.path.exists(path) and not os.path.isfile(path):
        raise _not_a_file(path)
    try:
        sources = sources_of(path)
        kept = set(without_logs(source.member for source in sources if source.member))
        return [source for source in sources if source.member is None or source.member in kept]
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
