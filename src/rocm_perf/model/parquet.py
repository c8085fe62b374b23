"""Tables as Parquet files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

_READ_AT_ONCE = 16 << 20  # bytes


def scan_parquet(path: Path) -> pl.LazyFrame:
    """A query over a file. One that is not large is read now: Polars maps files into memory, and whoever reads a mapped
    file that somebody cuts meanwhile is ended by SIGBUS."""
    is_large = path.stat().st_size > _READ_AT_ONCE
    return pl.scan_parquet(path if is_large else path.read_bytes(), glob=False)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a table; raises OSError where the system refuses, which Polars reports as an error of its own."""
    with _system_errors(path), path.open("wb") as file:  # Polars takes no name that is not UTF-8
        frame.write_parquet(file, compression="zstd")


def join_parquet(pieces: list[Path], path: Path) -> None:
    """Make one file of those that hold the pieces of a table, in their order; at no time are they all in memory."""
    if len(pieces) == 1:
        pieces[0].rename(path)
        return
    with _system_errors(path):
        pl.scan_parquet(pieces, glob=False).sink_parquet(path, compression="zstd")
    for piece in pieces:
        piece.unlink()


@contextmanager
def _system_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except pl.exceptions.PolarsError as error:
        if not os.statvfs(path.parent).f_bavail:  # of the end of a file, Polars does not pass the reason on
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise OSError(str(error).splitlines()[0]) from error
