"""The bundle: a Trace on disk, as a folder with manifest.json and one Parquet file per table.

It is written under a temporary name and renamed at the end, so a killed writer leaves nothing that
can be loaded. Loading checks that the files are what was written; a table is decoded when it is first used.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec
import polars as pl
from isal import isal_zlib

from rocm_perf.errors import InputError, UsageError
from rocm_perf.files import unwritten
from rocm_perf.model import schema
from rocm_perf.model.parquet import join_parquet, scan_parquet, write_parquet
from rocm_perf.model.run import RunInfo, SourceFile
from rocm_perf.model.trace import Trace
from rocm_perf.text import encode_json
from rocm_perf.version import __version__

MANIFEST = "manifest.json"
KIND = "rocm-perf-bundle"
VERSION = 1

_MAX_MANIFEST_BYTES = 256 << 20
_CHUNK_BYTES = 1 << 20


class TableFile(msgspec.Struct, frozen=True):
    """One table of a bundle."""

    file: str
    rows: int
    crc32: int | None = None  # of the file; the first bundles did not keep it


class _Label(msgspec.Struct, frozen=True):
    """The part that every version of the manifest has."""

    kind: str
    version: int


class Manifest(msgspec.Struct, frozen=True):
    """The content of manifest.json."""

    kind: str
    version: int
    producer: str
    run: RunInfo
    tables: dict[str, TableFile]


class Draft:
    """A bundle that is being written: tables, whole or piece by piece, and at last the description of the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[str, list[int]] = {}  # of the pieces of each table

    def append(self, table: str, rows: pl.DataFrame) -> None:
        """Add rows to a table."""
        if rows.height:
            counts = self._rows.setdefault(table, [])
            write_parquet(rows, self._piece(table, len(counts)))
            counts.append(rows.height)

    def finish(self, run: RunInfo) -> Manifest:
        """Put the pieces of each table together, and write the manifest."""
        manifest = Manifest(
            kind=KIND,
            version=VERSION,
            producer=f"rocm-perf {__version__}",
            run=_with_hashes(run),
            tables={name: self._table(name) for name in schema.SCHEMAS if name in self._rows},
        )
        (self._folder / MANIFEST).write_bytes(encode_json(manifest) + b"\n")
        return manifest

    def _piece(self, table: str, number: int) -> Path:
        return self._folder / f"{table}.{number}.parquet"

    def _table(self, name: str) -> TableFile:
        file = self._folder / f"{name}.parquet"
        counts = self._rows[name]
        join_parquet([self._piece(name, number) for number in range(len(counts))], file)
        return TableFile(file.name, sum(counts), _crc32(file))


@contextmanager
def writing(folder: Path, *, overwrite: bool = False) -> Iterator[Draft]:
    """A draft that becomes the bundle `folder` at the end, and vanishes if anything fails. An existing folder is
    replaced only with `overwrite`, and only if it is a bundle."""
    draft: Path | None = None
    try:
        folder = folder.resolve() if folder.is_symlink() else folder
        _refuse_existing(folder, overwrite)
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.partial")
        draft.mkdir()
        yield Draft(draft)
        _put_in_place(draft, folder, overwrite)
    except OSError as error:
        raise unwritten(folder, error) from error
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def write(trace: Trace, folder: Path, *, overwrite: bool = False) -> Manifest:
    """Write the Trace to `folder`, as `writing` does."""
    with writing(folder, overwrite=overwrite) as draft:
        for name in schema.SCHEMAS:
            draft.append(name, trace.table(name))
        return draft.finish(trace.run)


def is_bundle(path: Path) -> bool:
    """Whether the folder has a manifest of ours, complete or not; other tools also write a manifest.json."""
    manifest = path / MANIFEST
    try:
        if not manifest.is_file():
            return False
        with manifest.open("rb") as file:
            return KIND.encode() in file.read(4096)
    except OSError:
        return False


def read(folder: Path) -> Trace:
    """The Trace of a bundle; its tables stay on disk until they are used."""
    manifest = read_manifest(folder)
    tables = {name: _scan(folder, name, entry) for name, entry in manifest.tables.items()}
    return Trace(tables, manifest.run)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a bundle; raises InputError if this version cannot read it."""
    path = folder / MANIFEST
    try:
        data = _manifest_bytes(path)
        label = msgspec.json.decode(data, type=_Label)
        if label.kind != KIND:
            raise _not_ours(path, f"its kind is {label.kind!r}")
        if not 1 <= label.version <= VERSION:
            raise InputError(
                f"the bundle {folder} has format version {label.version}",
                f"this rocm-perf reads up to {VERSION}",
                "Upgrade: pip install -U rocm-perf",
            )
        return msgspec.json.decode(data, type=Manifest)
    except OSError as error:
        raise InputError(f"cannot read {path}", error.strerror or str(error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _not_ours(path, str(error)) from error


def _not_ours(path: Path, why: str) -> InputError:
    return InputError(f"{path} is not the manifest of a rocm-perf bundle", why)


def _manifest_bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise _not_ours(path, "it is not a file")
    if path.stat().st_size > _MAX_MANIFEST_BYTES:
        raise _not_ours(path, "it is far too large")
    return path.read_bytes()


def _scan(folder: Path, table: str, entry: TableFile) -> pl.LazyFrame:
    """A query over the file of a table, if it is what was written. Its footer gives the columns; no row is decoded."""
    if table not in schema.SCHEMAS:
        raise InputError(
            f"the bundle {folder} has a table {table!r}", "this version of bundles does not know it"
        )
    if entry.file != f"{table}.parquet":
        raise InputError(f"the bundle {folder} is damaged", f"table {table} cannot be in {entry.file!r}")
    file = folder / entry.file
    if not file.is_file():
        raise InputError(
            f"the bundle {folder} is incomplete",
            f"{entry.file} is missing",
            "Restore it, or export the recording again.",
        )
    try:
        if entry.crc32 is not None and _crc32(file) != entry.crc32:
            raise _damaged(file, "it is not what was written there")
        frame = scan_parquet(file)
        columns = dict(frame.collect_schema())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _damaged(file, str(error).splitlines()[0]) from error
    contract = schema.SCHEMAS[table]
    added = [column for column in contract.columns if column.name not in columns and not column.required]
    if columns | {column.name: column.dtype for column in added} != contract.dtypes:
        raise _damaged(file, f"its columns are not those of {table}")
    if not added:
        return frame
    # The bundle is older than these columns: what they hold was not recorded then.
    nulls = (pl.lit(None, column.dtype).alias(column.name) for column in added)
    return frame.with_columns(nulls).select(contract.names)


def _damaged(file: Path, why: str) -> InputError:
    return InputError(f"{file} is damaged", why, "Export the recording again.")


def _crc32(file: Path) -> int:
    """Enough to notice damage, and far faster than a hash that resists a forger."""
    checksum = 0
    with file.open("rb") as stored:
        while chunk := stored.read(_CHUNK_BYTES):
            checksum = isal_zlib.crc32(chunk, checksum)
    return checksum


def _with_hashes(run: RunInfo) -> RunInfo:
    """The run with the hash of each source: computed here, because only a recording that is kept needs it."""
    hash_once = cache(_sha256)

    def hashed(source: SourceFile) -> SourceFile:
        if source.sha256 is not None:
            return source
        file = _stored_in(source)
        whole_size = source.size_bytes if file == Path(source.path) else None
        return msgspec.structs.replace(source, sha256=hash_once(file, whole_size))

    return msgspec.structs.replace(run, sources=tuple(map(hashed, run.sources)))


def _stored_in(source: SourceFile) -> Path:
    """The file on disk that a source is in; a member of an archive is called `archive!member`."""
    path = Path(source.path)
    return path if "!" not in source.path or path.exists() else Path(source.path.split("!", 1)[0])


def _sha256(file: Path, size: int | None) -> str | None:
    """The hash of a file; None if it can no longer be read or has changed its size."""
    digest = hashlib.sha256()
    try:
        if not file.is_file() or (size is not None and file.stat().st_size != size):
            return None
        with file.open("rb") as stored:
            while chunk := stored.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()


def _refuse_existing(folder: Path, overwrite: bool) -> None:
    if not folder.exists():
        return
    if not overwrite:
        raise UsageError(
            f"{folder} exists already", next_step="Choose another name, or add --force to replace it."
        )
    if not is_bundle(folder):
        raise UsageError(f"{folder} is not a bundle", "it is never replaced", "Choose another name.")
    foreign = [entry.name for entry in folder.iterdir() if not _is_ours(entry)]
    if foreign:
        raise UsageError(
            f"{folder} contains more than a bundle",
            f"{', '.join(sorted(foreign)[:3])} would be lost",
            "Move it, or choose another name.",
        )


def _is_ours(entry: Path) -> bool:
    return entry.name == MANIFEST or (entry.suffix == ".parquet" and entry.stem in schema.SCHEMAS)


def _put_in_place(draft: Path, folder: Path, overwrite: bool) -> None:
    """Rename the draft to `folder`. A rename never replaces a folder with files in it: of two writers, one fails."""
    if not overwrite or not folder.exists():
        draft.rename(folder)
        return
    old = draft.with_name(draft.name + ".old")
    folder.rename(old)
    try:
        draft.rename(folder)
    except BaseException:
        try:
            old.rename(folder)
        except OSError:  # another writer was faster: the folder is there, and whole
            shutil.rmtree(old, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
