"""Files that are written atomically, and texts that are read whole. Only regular files are ever replaced."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from rocm_perf.errors import InputError, OutputError, UsageError

MAX_TEXT_BYTES = 16 << 20  # far more than any request, counter list or workload


def write_whole(
    path: Path, write: Callable[[Path], object], *, overwrite: bool, durable: bool = False
) -> None:
    """Let `write` create a file under a temporary name beside `path`, and move it into place once it is complete. With
    `durable` it is on the disk, not only in its cache, before it gets the name.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        refuse_existing(target, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".rocm-perf-{secrets.token_hex(8)}.partial")
        try:
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
            write(draft)
            if durable:
                _sync(draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise unwritten(path, error) from error


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise UsageError unless the name is free, or that of a regular file to overwrite."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(f"{path} is not a regular file", "it is never replaced", "Choose another name.")
    if not overwrite:
        raise UsageError(
            f"{path} exists already", next_step="Choose another name, or add --force to replace it."
        )


def unwritten(path: Path, error: OSError) -> OutputError:
    """The error for a file that could not be written."""
    return OutputError(f"cannot write {path}", error.strerror or str(error), "Nothing was changed there.")


def read_text(path: Path, *, most_bytes: int = MAX_TEXT_BYTES) -> str:
    """The text of a file that a person wrote, which may come through a pipe; an endless one is refused."""
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise InputError(f"cannot read {path}", f"it is larger than {most_bytes:,} bytes")
        return data.decode()
    except OSError as error:
        raise InputError(f"cannot read {path}", error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}", f"it is not UTF-8 text (byte {error.start:,})") from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
