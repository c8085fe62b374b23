"""Tables of a Trace as Parquet, CSV or JSON files. Files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf.errors import InputError, UsageError
from rocm_perf.model.trace import Trace

SUFFIXES = (".parquet", ".csv", ".json")


def write_table(frame: pl.DataFrame, path: Path, *, overwrite: bool = False) -> None:
    """One table as .parquet or .csv."""
    writers: dict[str, Callable[[Path], object]] = {".parquet": frame.write_parquet, ".csv": frame.write_csv}
    write_whole(path, writers[path.suffix], overwrite)


def write_json(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """The run and all tables, each as columns, in one JSON document."""
    document = {
        "run": trace.run,
        "tables": {name: trace.table(name).to_dict(as_series=False) for name in trace},
    }
    data = msgspec.json.encode(document)
    write_whole(path, lambda draft: draft.write_bytes(data), overwrite)


def write_whole(path: Path, write: Callable[[Path], object], overwrite: bool) -> None:
    """Let `write` make a file under a temporary name, and put it in place once it is whole."""
    if path.exists() and not overwrite:
        raise UsageError(
            f"{path} exists already", next_step="Choose another name, or add --force to replace it."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
        os.close(handle)
        draft = Path(name)
        try:
            write(draft)
            draft.chmod(0o644)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write {path}", error.strerror or str(error), "Nothing was changed there."
        ) from error
