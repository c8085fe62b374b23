"""Tables of a Trace as Parquet, CSV or JSON files. Files appear whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from rocm_perf.files import write_whole
from rocm_perf.model.parquet import write_parquet
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.cells import write_csv
from rocm_perf.text import compact_json

_WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "parquet": write_parquet,
    "csv": write_csv,
}


def write_table(frame: pl.DataFrame, path: Path, form: str, *, overwrite: bool = False) -> None:
    """Write one table in the given form, whatever the name of the file."""
    write_whole(path, partial(_WRITERS[form], frame), overwrite=overwrite)


def write_json(trace: Trace, path: Path, *, overwrite: bool = False) -> None:
    """The run and all tables, each as columns, in one JSON document."""
    document = {
        "run": trace.run,
        "tables": {name: trace.table(name).to_dict(as_series=False) for name in trace},
    }
    data = compact_json(document)
    write_whole(path, lambda draft: draft.write_bytes(data), overwrite=overwrite)
