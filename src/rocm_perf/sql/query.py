"""Asks a recording in SQL. The query runs in a process of its own, so that a timeout or a signal can end it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from rocm_perf.errors import OutputError, UsageError
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.sql import query_process
from rocm_perf.units import format_count


def answer(
    trace: Trace, sql: str, *, timeout_s: float, most_rows: int, allow_files: bool = False
) -> pl.DataFrame:
    """The rows of a query over the tables of a recording."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-query-") as name:
        folder = Path(name)
        _write_tables(trace, sql, folder)
        request = {
            "folder": name,
            "sql": sql,
            "most_rows": most_rows,
            "allow_files": allow_files,
            "asked_by": os.getpid(),
        }
        text = json.dumps(request, ensure_ascii=False).encode()  # refuses what is not UTF-8
        done = _run([sys.executable, query_process.__file__], text, timeout_s)
        if done.returncode:
            raise _failure(done, trace, most_rows)
        return pl.read_ipc((folder / query_process.RESULT).read_bytes())


def _write_tables(trace: Trace, sql: str, folder: Path) -> None:
    """Write each table; of those that the query does not name, only the columns."""
    text = sql.lower()
    try:
        for name in schema.SCHEMAS:
            frame = trace.table(name) if name in text else schema.empty(name)
            frame.write_ipc(folder / f"{name}{query_process.TABLE_SUFFIX}")
    except OSError as error:
        raise OutputError(
            "cannot write the tables for the query",
            str(error),
            "Point TMPDIR to a folder with more space.",
        ) from error


def _run(argv: list[str], request: bytes, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run the query process to its end; it is killed when its time is up, or when a signal ends this process."""
    try:
        return subprocess.run(
            argv,
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # Polars writes there when it panics, before that is caught
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"the query took longer than {timeout_s:g} s and was ended",
            next_step="Narrow it down, or allow more with --timeout S.",
        ) from error


def _failure(done: subprocess.CompletedProcess[bytes], trace: Trace, most_rows: int) -> UsageError:
    if done.returncode == query_process.EXIT_REACHED_OUT:
        return UsageError(
            "the query reads more than the recording",
            "only its tables are open to it",
            "Add --allow-files to let it read files and addresses.",
        )
    if done.returncode == query_process.EXIT_TOO_MANY_ROWS:
        return UsageError(
            f"the query returns more than {format_count(most_rows, 'row')}",
            next_step="Add a LIMIT to it, or allow more with --max-rows N.",
        )
    if done.returncode == query_process.EXIT_FAILED:
        return UsageError(
            "the query failed",
            done.stdout.decode("utf-8", "replace"),
            f"Tables with rows here: {', '.join(trace)}.",
        )
    return UsageError(
        "the query ended unexpectedly", "it may need more memory than there is", "Narrow it down."
    )
