"""Notices when Python opens, makes, moves or removes a file outside of one folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.truncate",
    "shutil.rmtree",
}
_HARMLESS = (
    os.devnull,
    "/dev/tty",
    "/dev/kfd",
    "/dev/dri/",
    "/dev/nvidia",
)  # devices are opened to see whether one may

_watched: list[tuple[str, list[str]]] = []  # the folder, and what was written outside of it


@contextmanager
def watched_writes(folder: Path) -> Iterator[list[str]]:
    """A list that fills with the paths outside of `folder` that are written to meanwhile."""
    _listen()
    strays: list[str] = []
    _watched.append((f"{folder.resolve()}/", strays))
    try:
        yield strays
    finally:
        _watched.pop()


@cache
def _listen() -> None:
    """Once for the process: an audit hook cannot be taken back."""
    sys.addaudithook(_hear)


def _hear(event: str, details: tuple[object, ...]) -> None:
    if not _watched:
        return
    if event == "open":
        path, _mode, flags = details
        if not (isinstance(flags, int) and flags & _FLAGS):
            return
    elif event in _CHANGES:
        path = details[0]
    else:
        return
    if not isinstance(path, str | bytes | os.PathLike):
        return  # a descriptor
    folder, strays = _watched[-1]
    whole = os.path.abspath(os.fsdecode(path))
    if not whole.startswith((folder, *_HARMLESS)) and "/__pycache__" not in whole:
        strays.append(f"{event} {whole}")
