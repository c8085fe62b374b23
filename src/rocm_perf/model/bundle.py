"""The bundle: a Trace on disk, as a folder with manifest.json and one Parquet file a table.

It is written under a temporary name and renamed at the end, so a killed writer leaves nothing that
loads. Loading reads the manifest; a table is read when it is first asked for.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import msgspec
import polars as pl

from rocm_perf import __version__
from rocm_perf.errors import InputError, UsageError
from rocm_perf.model import schema
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace

MANIFEST = "manifest.json"
KIND = "rocm-perf-bundle"
VERSION = 1


class TableFile(msgspec.Struct, frozen=True):
    """One table of a bundle."""

    file: str
    rows: int


class Manifest(msgspec.Struct, frozen=True):
    """What manifest.json holds."""

    kind: str
    version: int
    producer: str
    run: RunInfo
    tables: dict[str, TableFile]


def write(trace: Trace, folder: Path, *, overwrite: bool = False) -> Manifest:
    """Write the Trace to `folder`. An existing folder is kept unless `overwrite` and it is a bundle."""
    _refuse_existing(folder, overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent))
    try:
        manifest = _write_files(trace, draft)
        _put_in_place(draft, folder)
    except OSError as error:
        raise InputError(
            f"cannot write the bundle {folder}", error.strerror or str(error), "Nothing was changed there."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def is_bundle(path: Path) -> bool:
    return (path / MANIFEST).is_file()


def read(folder: Path) -> Trace:
    """The Trace of a bundle; its tables stay on disk until they are asked for."""
    manifest = read_manifest(folder)
    tables: dict[str, pl.LazyFrame] = {}
    for name, entry in manifest.tables.items():
        file = folder / entry.file
        if not file.is_file() or file.parent != folder:
            raise InputError(
                f"the bundle {folder} is incomplete",
                f"{entry.file} is missing",
                "Restore it, or export the recording again.",
            )
        tables[name] = _scan(file)
    return Trace(tables, manifest.run)


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not the manifest of a rocm-perf bundle", str(error)) from error
    if manifest.kind != KIND:
        raise InputError(
            f"{path} is not the manifest of a rocm-perf bundle", f"its kind is {manifest.kind!r}"
        )
    if manifest.version > VERSION:
        raise InputError(
            f"the bundle {folder} has format version {manifest.version}",
            f"this rocm-perf reads up to {VERSION}",
            "Upgrade: pip install -U rocm-perf",
        )
    return manifest


def _scan(file: Path) -> pl.LazyFrame:
    try:
        frame = pl.scan_parquet(file)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            f"{file} is damaged", str(error).splitlines()[0], "Export the recording again."
        ) from error
    return frame


def _write_files(trace: Trace, draft: Path) -> Manifest:
    tables = {}
    for name in schema.SCHEMAS:
        frame = trace.table(name)
        if frame.height:
            frame.write_parquet(draft / f"{name}.parquet", compression="zstd")
            tables[name] = TableFile(f"{name}.parquet", frame.height)
    manifest = Manifest(KIND, VERSION, f"rocm-perf {__version__}", trace.run, tables)
    (draft / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
    return manifest


def _refuse_existing(folder: Path, overwrite: bool) -> None:
    if not folder.exists():
        return
    if not overwrite:
        raise UsageError(
            f"{folder} exists already", next_step="Choose another name, or add --force to replace it."
        )
    if not is_bundle(folder):
        raise UsageError(f"{folder} is not a bundle", "it is never replaced", "Choose another name.")


def _put_in_place(draft: Path, folder: Path) -> None:
    if not folder.exists():
        draft.rename(folder)
        os.chmod(folder, 0o755)
        return
    old = draft.with_name(draft.name + ".old")
    folder.rename(old)
    draft.rename(folder)
    os.chmod(folder, 0o755)
    shutil.rmtree(old, ignore_errors=True)
