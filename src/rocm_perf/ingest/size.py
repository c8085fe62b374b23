"""How large the recordings at some paths are before they are read: by what their formats count, else by bytes."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.helpers import MOST_PER_BYTE
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.paths import sources_at, walk
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.sniff import sniff
from rocm_perf.ingest.survey import FLOOR_BYTES, Survey
from rocm_perf.model import bundle
from rocm_perf.model.parquet import scan_parquet
from rocm_perf.model.tables import SCHEMAS
from rocm_perf.model.time_window import UNCUT

# The fewest that recorded specimens have: Perfetto and RPD 119 to 437, JSON of rocprofv3 and rocprof 368 to 1,024.
BYTES_PER_BINARY_ROW = 100
BYTES_PER_JSON_RECORD = 350
_SAMPLED_ROWS = 1_000


def survey_paths(paths: list[Path], limit_bytes: int) -> Survey:
    """What all the paths hold. Files too small to matter are not opened; what cannot be read counts nothing, reading
    it will say why."""
    sources: list[Source] = []
    surveys = []
    for path in paths:
        try:
            surveys += [_bundle(folder) for folder in _bundles(path)]
            sources += [source for file in _files(path) for source in sources_at(file)]
        except RocmPerfError:
            continue
    if FLOOR_BYTES + MOST_PER_BYTE * sum(source.stored_bytes for source in sources) > limit_bytes:
        surveys += [_file(source) for source in sources]
    return sum(surveys, Survey(in_part=True))


def _bundles(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return [path] if bundle.is_bundle(path) else walk(path).bundles


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [] if bundle.is_bundle(path) else walk(path).files
    return [path] if os.path.isfile(path) else []


def _bundle(folder: Path) -> Survey:
    """By the manifest, and by a thousand starts of each table."""
    total = Survey(in_part=True)
    for name, entry in bundle.read_manifest(folder).tables.items():
        has_starts = name in SCHEMAS and name not in UNCUT and "start_ns" in SCHEMAS[name].dtypes
        times = _starts(folder / entry.file, entry.rows) if has_starts else []
        first, last = min(times, default=None), max(times, default=None)
        total += Survey({name: max(entry.rows, 0)}, first, last, tuple(times), in_part=True)
    return total


def _starts(file: Path, rows: int) -> list[int]:
    """Some starts, ascending, the first and the last among them."""
    start = pl.col("start_ns").cast(pl.Int64, strict=False)  # reading it refuses a forged one
    every = max(rows // _SAMPLED_ROWS, 1)
    try:
        scanned = scan_parquet(file)
        sampled = scanned.select(start.gather_every(every)).collect().to_series()
        ends = scanned.select(start.min(), start.max().alias("last")).collect().row(0)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return []
    return sorted(time for time in (*sampled, *ends) if time is not None)


def _file(source: Source) -> Survey:
    try:
        adapter = sniff(source)
        return adapter.survey(source) if adapter.survey else _by_bytes(source)
    except RocmPerfError:
        return Survey(in_part=True)


def _by_bytes(source: Source) -> Survey:
    """As many rows as the first megabytes have, for all bytes."""
    head, whole = source.outline()
    peek = Peek(source)
    name = "events" if peek.json_kind else "rows"
    if peek.is_binary:
        in_head = len(head) // BYTES_PER_BINARY_ROW
    elif peek.json_kind:
        in_head = head.count(b'"ph"') or len(head) // BYTES_PER_JSON_RECORD
    else:
        in_head = head.count(b"\n")
    rows = in_head * whole // max(len(head), 1)
    return Survey({name: rows}, in_part=whole == len(head))  # such a small one can be cut after reading
