"""Contents of a snapshot's files: stored raw and sparse or compressed by zstd, hashed as they are written, and checked
against their hashes as they are read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import zstandard

from rocm_perf.errors import InputError, OutputError
from rocm_perf.replay import pieces, reading
from rocm_perf.replay.pieces import Span
from rocm_perf.replay.snapshot import Snapshot, StoredFile
from rocm_perf.units import format_bytes

_WORTH = 0.95  # of the raw size: what saves less is kept raw, which loads faster
_TRIED = 8  # pieces
_DISK_BLOCK = 512  # of st_blocks
_TMPDIR = "Set TMPDIR to a folder on a larger disk."


def pack_all(folder: Path, names: list[str], *, compress: bool) -> dict[str, StoredFile]:
    """Hash each file and, where that pays, replace one of memory by FILE.zst; of the same contents, one is kept."""
    first: dict[tuple[str, int], str] = {}
    files: dict[str, StoredFile] = {}
    for name in names:
        entry = _packed(folder / name, compress=compress and "/" in name)
        holder = first.setdefault((entry.sha256, entry.size), name)
        if holder == name:
            files[name] = entry
        else:
            _stored_path(folder, name, entry).unlink()
            files[name] = StoredFile(entry.sha256, entry.size, same_as=holder)
    return files


def _packed(file: Path, *, compress: bool) -> StoredFile:
    compress = compress and file.stat().st_size > pieces.BLOCK and _has_room(file)
    if not (compress and _promises(file)):
        return _hashed(file)
    packed = file.with_name(f"{file.name}.zst")
    entry = _compressed(file, packed)
    if sum(entry.frames) < _WORTH * on_disk(file):
        file.unlink()
        return entry
    packed.unlink()
    _sync(file)
    return StoredFile(entry.sha256, entry.size)


def _promises(file: Path) -> bool:
    """Whether a few pieces shrink: much memory is as good as random, and trying all of it takes longer than copying."""
    with _opened(file) as handle:
        spans = list(pieces.spans(os.fstat(handle).st_size))
        if len(spans) <= _TRIED:
            return True
        some = [spans[place * len(spans) // _TRIED] for place in range(_TRIED)]
        contents = [pieces.read_at(handle, span.offset, span.length) for span in some]
    tried = [data for data in contents if not pieces.is_zero(data)]  # holes are free either way
    return sum(len(pieces.compressed(data)) for data in tried) < _WORTH * sum(map(len, tried))


def _stored_path(folder: Path, name: str, entry: StoredFile) -> Path:
    return folder / (f"{name}.zst" if entry.stored == "zstd" else name)


def _hashed(file: Path) -> StoredFile:
    with _opened(file) as handle:
        size = os.fstat(handle).st_size

        def summed(span: Span) -> bytes:
            return pieces.sum_of(pieces.read_at(handle, span.offset, span.length))

        sha256 = pieces.hash_of(pieces.in_order(summed, pieces.spans(size)))
        os.fsync(handle)
    return StoredFile(sha256, size)


def _compressed(file: Path, packed: Path) -> StoredFile:
    sums, frames = [], []
    with _opened(file) as handle, packed.open("wb") as out:
        size = os.fstat(handle).st_size

        def squeezed(span: Span) -> tuple[bytes, bytes]:
            data = pieces.read_at(handle, span.offset, span.length)
            return pieces.sum_of(data), pieces.compressed(data)

        for one, frame in pieces.in_order(squeezed, pieces.spans(size)):
            sums.append(one)
            frames.append(len(frame))
            out.write(frame)
        out.flush()
        os.fsync(out.fileno())
    return StoredFile(pieces.hash_of(sums), size, "zstd", frames=tuple(frames))


def check(snapshot: Snapshot) -> int:
    """Read every file of the snapshot and compare it with its hash; returns how many there are."""
    holders = _holders(snapshot)
    for name in holders:
        _read(snapshot, name, None)
    return len(holders)


def unpack(snapshot: Snapshot, work: Path) -> dict[str, Path]:
    """Check every file of the snapshot; returns where each lies raw: in its place, or below `work` if compressed."""
    files = snapshot.manifest.files
    packed = {name for name in _holders(snapshot) if snapshot.is_packed(name)}
    check_room(work, sum(files[name].size for name in packed), "the snapshot cannot be unpacked")
    try:
        for name in _holders(snapshot):
            _read(snapshot, name, work / name if name in packed else None)
    except OSError as error:
        raise OutputError("the snapshot cannot be unpacked", error.strerror or str(error), _TMPDIR) from error
    holders = {name: entry.same_as or name for name, entry in files.items()}
    return {
        name: work / holder if holder in packed else snapshot.folder / holder
        for name, holder in holders.items()
    }


def check_room(folder: Path, needed: int, what: str) -> None:
    """Refuse, before anything is written, where the disk is too small."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        why = f"{format_bytes(needed)} are needed and {format_bytes(free)} are free in {folder}"
        raise OutputError(what, why, _TMPDIR)


def _holders(snapshot: Snapshot) -> list[str]:
    """Files that hold contents, and not only refer to another."""
    return [name for name, entry in snapshot.manifest.files.items() if entry.same_as is None]


def _read(snapshot: Snapshot, name: str, target: Path | None) -> None:
    """Check one file, and write it raw to the target if there is one. Without a hash only its size can be checked."""
    entry, stored = snapshot.manifest.files[name], snapshot.stored_name(name)
    frames = entry.frames if snapshot.is_packed(name) else ()
    expected = sum(frames) if frames else entry.size
    with reading.opened(snapshot.folder, stored) as handle:
        size = os.fstat(handle).st_size
        if size != expected:
            raise _damaged(snapshot, f"{stored} has {size} bytes instead of {expected}")
        if not entry.sha256 and target is None:
            return
        try:
            sha256 = _contents_hash(handle, snapshot.folder / stored, entry.size, frames, target)
        except zstandard.ZstdError as error:
            raise _damaged(snapshot, f"{stored}: {error}") from error
    if entry.sha256 and sha256 != entry.sha256:
        raise _damaged(snapshot, f"{name} does not have the hash that it was written with")


def _damaged(snapshot: Snapshot, why: str) -> InputError:
    return InputError(f"the snapshot {snapshot.folder} is damaged", why, "Copy or capture it again.")


def _contents_hash(handle: int, path: Path, size: int, frames: Sequence[int], target: Path | None) -> str:
    with _target(target, size) as out:

        def summed(span: Span) -> bytes:
            data = reading.piece(handle, span.stored_at, span.stored_length, path)
            if frames:
                data = pieces.decompressed(data, span.length)
            if out is not None:
                pieces.write_sparse(out, data, span.offset)
            return pieces.sum_of(data)

        def zeros(span: Span) -> bytes | None:
            """A file that is all holes may be of any size, and is not worth reading."""
            is_hole = not frames and pieces.is_hole(handle, span.offset, span.length)
            return pieces.zero_sum(span.length) if is_hole else None

        return pieces.hash_of(pieces.in_order(summed, pieces.spans(size, frames), zeros))


@contextmanager
def _target(path: Path | None, size: int) -> Iterator[int | None]:
    if path is None:
        yield None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
        yield file.fileno()


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    with path.open("rb", buffering=0) as file:
        yield file.fileno()


def on_disk(file: Path) -> int:
    """The bytes that a file takes on disk; of a sparse one fewer than its size."""
    return file.stat().st_blocks * _DISK_BLOCK


def _has_room(file: Path) -> bool:
    return shutil.disk_usage(file.parent).free > on_disk(file)


def _sync(path: Path) -> None:
    with _opened(path) as handle:
        os.fsync(handle)
