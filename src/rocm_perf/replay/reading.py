"""Opening the files of a snapshot. A stranger may have written them: only regular files are opened, so that nothing
waits for a pipe or wakes a device, and every failure is explained."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocm_perf.errors import InputError
from rocm_perf.replay.pieces import read_at

_ABSENT = (FileNotFoundError, NotADirectoryError)


def is_folder(path: Path) -> bool | None:
    """Whether the path is a folder; None where there is nothing of that name."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except _ABSENT:
        return None
    except OSError as error:
        raise unreadable(path, error) from error


def is_there(folder: Path, name: str) -> bool:
    """Whether there is anything of that name, whatever it is."""
    try:
        (folder / name).lstat()
    except _ABSENT:
        return False
    except OSError as error:
        raise unreadable(folder / name, error) from error
    return True


def size_of(folder: Path, name: str) -> int:
    """The size of a file of the snapshot."""
    with opened(folder, name) as handle:
        return os.fstat(handle).st_size


@contextmanager
def opened(folder: Path, name: str) -> Iterator[int]:
    """Open a file of the snapshot to be read; refused where it is missing or is not a regular file."""
    path = folder / name
    try:
        handle = _open_regular(path)
    except _ABSENT as error:
        raise InputError(
            f"the snapshot {folder} is incomplete", f"{name} is missing", "Copy or capture it again."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    if handle is None:
        raise InputError(f"the snapshot {folder} is damaged", f"{name} is not a file")
    try:
        yield handle
    finally:
        os.close(handle)


def contents(folder: Path, name: str, most: int) -> bytes:
    """All bytes of a file, refused where it is larger than `most`."""
    with opened(folder, name) as handle:
        size = os.fstat(handle).st_size
        if size > most:
            raise InputError(f"{folder / name} is damaged", "it is far too large")
        return piece(handle, 0, size, folder / name)


def piece(handle: int, offset: int, length: int, path: Path) -> bytes:
    """So many bytes, or fewer where the file ends."""
    try:
        return read_at(handle, offset, length)
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a path that the system does not let us read."""
    closed = error.errno in (errno.EACCES, errno.EPERM)
    next_step = "Ask its owner to let you read it." if closed else ""
    return InputError(f"cannot read {path}", error.strerror or str(error), next_step)


def _open_regular(path: Path) -> int | None:
    """The handle of a regular file, else None. It is looked at first: opening a device may do something already."""
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    return None
