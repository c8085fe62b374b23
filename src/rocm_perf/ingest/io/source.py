"""One recorded file, wherever it lies: plain, gzip, zstd, or a member of a zip. Sizes are bounded, and
a stream that ends early gives what it holds and says so."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import zstandard
from isal import isal_zlib

from rocm_perf.errors import InputError
from rocm_perf.units import format_bytes

CHUNK_BYTES = 4 << 20
HEAD_BYTES = 64 << 10
MAX_ZIP_MEMBERS = 10_000

# A recording expands 10 to 40 times; a bomb a thousand times and more.
MAX_BYTES = int(os.environ.get("ROCM_PERF_MAX_BYTES", str(32 << 30)))
MAX_RATIO = 250
RATIO_FREE_BYTES = 64 << 20

# Called with (name, bytes read, bytes stored) while a source is read; the command line shows it.
PROGRESS: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("progress", default=None)

_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_DAMAGE: tuple[type[Exception], ...] = (
    EOFError,
    zlib.error,
    isal_zlib.error,
    zstandard.ZstdError,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Source:
    """A file, or a member of a zip file."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.path}!{self.member}" if self.member else str(self.path)

    @property
    def file_name(self) -> str:
        """The last part of its name, without .gz or .zst."""
        last = self.member.rsplit("/", 1)[-1] if self.member else self.path.name
        for suffix in (".gz", ".zst"):
            last = last.removesuffix(suffix)
        return last

    @property
    def folder(self) -> Path:
        return (self.path / self.member).parent if self.member else self.path.parent

    @property
    def stored_bytes(self) -> int:
        """Size as it lies on disk."""
        if self.member is None:
            return self.path.stat().st_size
        with zipfile.ZipFile(self.path) as archive:
            return archive.getinfo(self.member).compress_size

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """The first bytes, decompressed."""
        with self.reader() as reader:
            return reader.read(size)

    def read(self) -> Content:
        """All of it, decompressed."""
        with self.reader() as reader:
            data = b"".join(reader)
            return Content(data, reader.damage)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Chunks of the decompressed content."""
        try:
            with self._open() as raw:
                yield Reader(raw, self.name, self.stored_bytes)
        except OSError as error:
            raise InputError(f"cannot read {self.name}", error.strerror or str(error)) from error
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise InputError(f"cannot read {self.name}", str(error)) from error

    @contextmanager
    def local_file(self) -> Iterator[Path]:
        """A plain file with the decompressed content: itself, or a temporary one."""
        if self.member is None and not self.head(4).startswith((_GZIP, _ZSTD)) and not self._compressed():
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
            plain = Path(folder) / "content"
            with self.reader() as reader, plain.open("wb") as out:
                for chunk in reader:
                    out.write(chunk)
            yield plain

    def sha256(self) -> str:
        """Hash of the file as stored."""
        digest = hashlib.sha256()
        with self._open() as raw:
            while chunk := raw.read(CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()

    def _compressed(self) -> bool:
        with self._open() as raw:
            return raw.read(4).startswith((_GZIP, _ZSTD))

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        if self.member is None:
            with self.path.open("rb") as raw:
                yield raw
        else:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as raw:
                yield raw


@dataclass(frozen=True)
class Content:
    """Decompressed bytes, and why they are not all there, if so."""

    data: bytes
    damage: str | None


class Reader:
    """Iterates over the decompressed content of one source, within the bounds."""

    def __init__(self, raw: IO[bytes], name: str, stored_bytes: int) -> None:
        self.damage: str | None = None
        self._name = name
        self._stored = max(stored_bytes, 1)
        self._total = 0
        self._pending = b""
        self._raw = raw
        self._progress = PROGRESS.get()
        self._chunks = self._guarded(_expand(raw))

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> bytes:
        if self._pending:
            chunk, self._pending = self._pending, b""
            return chunk
        return next(self._chunks)

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        parts, missing = [], size
        for chunk in self:
            parts.append(chunk[:missing])
            self._pending = chunk[missing:]
            missing -= len(parts[-1])
            if not missing:
                break
        return b"".join(parts)

    def _guarded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            for chunk in chunks:
                self._total += len(chunk)
                self._check_size()
                if self._progress:
                    self._progress(self._name, self._raw.tell(), self._stored)
                yield chunk
        except _DAMAGE as error:
            reason = str(error) or "unexpected end"
            self.damage = f"the compressed stream breaks off after {format_bytes(self._total)} ({reason})"

    def _check_size(self) -> None:
        if self._total > MAX_BYTES:
            raise InputError(
                f"{self._name} is larger than {format_bytes(MAX_BYTES)} once decompressed",
                next_step="If that is right, set ROCM_PERF_MAX_BYTES to allow it.",
            )
        if self._total > RATIO_FREE_BYTES and self._total > MAX_RATIO * self._stored:
            raise InputError(
                f"{self._name} expands more than {MAX_RATIO} times",
                "no recording does, a decompression bomb does",
                "If it is a real recording, decompress it yourself and give the plain file.",
            )


def sources_of(path: Path) -> list[Source]:
    """The file itself, or every file inside it if it is a zip."""
    with path.open("rb") as raw:
        if raw.read(4) != _ZIP:
            return [Source(path)]
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
    except zipfile.BadZipFile as error:
        raise InputError(f"{path} is a damaged zip file", str(error)) from error
    if len(members) > MAX_ZIP_MEMBERS:
        raise InputError(
            f"{path} holds {len(members):,} files",
            f"more than {MAX_ZIP_MEMBERS:,} are not read",
            "Unpack it and name the folder of one run.",
        )
    return [Source(path, info.filename) for info in members]


def _expand(raw: IO[bytes]) -> Iterator[bytes]:
    first = raw.read(CHUNK_BYTES)
    if first.startswith(_GZIP):
        return _gunzip(raw, first)
    if first.startswith(_ZSTD):
        return _unzstd(raw, first)
    return _plain(raw, first)


def _plain(raw: IO[bytes], chunk: bytes) -> Iterator[bytes]:
    while chunk:
        yield chunk
        chunk = raw.read(CHUNK_BYTES)


def _gunzip(raw: IO[bytes], data: bytes) -> Iterator[bytes]:
    stream = isal_zlib.decompressobj(wbits=31)
    while data:
        if stream.eof:
            if not data.startswith(_GZIP):
                return  # padding behind the last member
            stream = isal_zlib.decompressobj(wbits=31)
        chunk = stream.decompress(data, CHUNK_BYTES)
        if chunk:
            yield chunk
        data = stream.unused_data if stream.eof else stream.unconsumed_tail
        if not data:
            data = raw.read(CHUNK_BYTES)
    if not stream.eof:
        tail = stream.flush()
        if tail:
            yield tail
        raise EOFError("unexpected end of the gzip stream")


class _Rejoined:
    """A stream whose first bytes were taken already."""

    def __init__(self, first: bytes, raw: IO[bytes]) -> None:
        self._first, self._raw = first, raw

    def read(self, size: int = -1) -> bytes:
        if self._first:
            data, self._first = self._first[:size], self._first[size:]
            return data
        return self._raw.read(size)


def _unzstd(raw: IO[bytes], first: bytes) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=1 << 30)
    with context.stream_reader(_Rejoined(first, raw), read_across_frames=True) as stream:  # type: ignore[arg-type]
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk
