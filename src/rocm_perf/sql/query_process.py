"""Runs one query in a process of its own, which can be killed: Polars holds on to the interpreter while it works.

It gets a folder with the tables on stdin, and leaves the rows there. Unless files are allowed, it can open nothing once
it has read the tables: then neither a file nor an address that the query names is ever reached. Run as a script, it
imports nothing of rocm-perf.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import IO

import polars as pl

TABLE_SUFFIX = ".arrow"
RESULT = "result"
EXIT_FAILED, EXIT_REACHED_OUT, EXIT_TOO_MANY_ROWS = 2, 3, 4

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def run(folder: Path, sql: str, most_rows: int, allow_files: bool) -> int:
    """Write the rows of the query to RESULT; returns an exit code, with the reason on stdout."""
    with (folder / RESULT).open("wb") as file:
        try:
            tables = {path.stem: pl.read_ipc(path).lazy() for path in folder.glob(f"*{TABLE_SUFFIX}")}
            _bound(allow_files)
            return _answer(tables, sql, most_rows, file)
        except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
            sys.stdout.buffer.write(str(error).split("\n")[0].encode("utf-8", "replace"))
            refused = not isinstance(error, pl.exceptions.PolarsError) and not allow_files
            return EXIT_REACHED_OUT if refused else EXIT_FAILED


def _answer(tables: dict[str, pl.LazyFrame], sql: str, most_rows: int, file: IO[bytes]) -> int:
    rows = pl.SQLContext(tables).execute(sql, eager=False).head(most_rows + 1).collect()
    if rows.height > most_rows:
        return EXIT_TOO_MANY_ROWS
    rows.write_ipc(file)
    return 0


def _bound(allow_files: bool) -> None:
    """Take no more memory than the machine has, and open nothing more unless that is allowed."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    if not allow_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def main() -> int:
    """Run what stdin asks for; ends with the process that asked."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    request = json.loads(sys.stdin.buffer.read())
    if os.getppid() != request["asked_by"]:  # it died before prctl could take note
        return EXIT_FAILED
    return run(Path(request["folder"]), request["sql"], request["most_rows"], request["allow_files"])


if __name__ == "__main__":
    sys.exit(main())
