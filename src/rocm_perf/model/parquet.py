"""Tables as Parquet files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import polars as pl


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a table; raises OSError where the system refuses, which Polars reports as an error of its own."""
    try:
        with path.open("wb") as file:  # Polars takes no name that is not UTF-8
            frame.write_parquet(file, compression="zstd")
    except pl.exceptions.PolarsError as error:
        if not os.statvfs(path.parent).f_bavail:  # of the end of a file, Polars does not pass the reason on
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise OSError(str(error).splitlines()[0]) from error
