"""One recorded file, wherever it lies: plain, gzip, zstd, or a member of a zip. Sizes are bounded, and
a stream that ends early yields what it has and says so."""

from __future__ import annotations

import struct
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import IO, cast

import msgspec
import zstandard
from isal import isal_zlib

from rocm_perf.environment import whole_number
from rocm_perf.errors import InputError
from rocm_perf.ingest.io.zstd_frames import FrameWatch
from rocm_perf.units import format_bytes

CHUNK_BYTES = 512 << 10
STORED_CHUNK_BYTES = 256 << 10  # of a compressed file at a time, to notice a decompression bomb early
HEAD_BYTES = 64 << 10
OUTLINE_BYTES = 4 << 20  # enough to tell how far a file expands
MAX_ZIP_MEMBERS = 10_000

# A recording expands 10 to 40 times; a bomb a thousand times or more.
MAX_BYTES = whole_number("ROCM_PERF_MAX_BYTES", 32 << 30)
MAX_RATIO = 250
RATIO_FREE_BYTES = 64 << 20
MAX_ZSTD_WINDOW = 128 << 20  # zstd's own limit without --long

# Called with (name, bytes read, bytes stored) while a source is read; the command line shows it.
PROGRESS: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("progress", default=None)

# Asked before a file is opened, those beside a recording included; a server sets it to the folders it was given.
MAY_OPEN: ContextVar[Callable[[Path], bool]] = ContextVar("may_open", default=lambda _path: True)

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and without
_GZIP_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub calls it an instance
_DAMAGE = (EOFError, zlib.error, _GZIP_ERROR, zstandard.ZstdError, zipfile.BadZipFile)
# What zipfile raises on hostile headers, beside BadZipFile and OSError.
_ZIP_ERRORS = (zipfile.BadZipFile, RuntimeError, ValueError, KeyError, EOFError, struct.error, OverflowError)


class Source(msgspec.Struct, frozen=True):
    """A file, or a member of a zip file."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """The name that messages show."""
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
        """Size on disk; 0 if it no longer exists."""
        try:
            size = self.path.stat().st_size
            # The directory of a zip can claim any size, but not that a member is larger than the zip.
            return size if self.member is None else min(size, _member(self.path, self.member).compress_size)
        except (OSError, *_ZIP_ERRORS):
            return 0

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """The first bytes, decompressed."""
        return self.start(size).data

    def start(self, size: int = HEAD_BYTES) -> Content:
        """The first bytes, decompressed, and why there are fewer if the file is damaged that early."""
        with self.reader() as reader:
            data = reader.read(size)
            return Content(data, reader.damage)

    def outline(self, size: int = OUTLINE_BYTES) -> tuple[bytes, int]:
        """The first bytes, decompressed, and about how many there are in all."""
        with self.reader() as reader:
            head = reader.read(size)
            if self.is_plain:
                return head, max(self.stored_bytes, len(head))
            stored, expanded = reader.stored_bytes_read, len(head)
            for chunk in reader:
                if reader.stored_bytes_read > stored:  # what was read so far is expanded whole
                    return head, self.stored_bytes * expanded // stored
                expanded += len(chunk)
        return head, expanded

    @property
    def is_plain(self) -> bool:
        """Whether the bytes on disk are the content itself."""
        with _explained(self.name), self._open() as raw:
            return self.member is None and not _is_packed(raw.read(4))

    def read(self) -> Content:
        """The whole content, decompressed."""
        with self.reader() as reader:
            data = b"".join(reader)
            return Content(data, reader.damage)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Chunks of the decompressed content."""
        with ExitStack() as opened:
            with _explained(self.name):
                reader = Reader(opened.enter_context(self._open()), self.name, self.stored_bytes)
            yield reader

    @contextmanager
    def local_file(self) -> Iterator[Path]:
        """A plain file with the decompressed content: the file itself, or a temporary one. This is for formats that
        need random access, so a truncated stream is refused."""
        if self.is_plain:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
            plain = Path(folder) / "content"
            self._unpack(plain)
            yield plain

    def _unpack(self, plain: Path) -> None:
        with self.reader() as reader:
            try:
                with plain.open("wb") as out:
                    for chunk in reader:
                        out.write(chunk)
            except OSError as error:
                raise InputError(
                    f"cannot unpack {self.name}",
                    error.strerror or str(error),
                    "Unpack it yourself, or point TMPDIR to a folder with more space.",
                ) from error
            if reader.damage:
                raise InputError(f"cannot read {self.name}", reader.damage, "Copy it again from its machine.")

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        if not MAY_OPEN.get()(self.path):
            raise InputError(f"{self.path} is not read", "it leads out of the folders that may be read")
        if self.member is None:
            with self.path.open("rb") as raw:
                yield raw
        else:
            with _archive_of(self.path).open(_member(self.path, self.member)) as raw:
                yield raw


class Content(msgspec.Struct, frozen=True):
    """Decompressed bytes, and why some are missing if they are."""

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
        self._expansion: Iterator[bytes] | None = None
        self._chunks = self._guarded()

    @property
    def stored_bytes_read(self) -> int:
        """How much of the file has been read, before decompression."""
        return self._raw.tell()

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

    def _guarded(self) -> Iterator[bytes]:
        while chunk := self._following():
            self._total += len(chunk)
            self._check_size()
            if self._progress:
                self._progress(self._name, self._raw.tell(), self._stored)
            yield chunk

    def _following(self) -> bytes:
        """The next chunk; empty at the end, and where the stream is damaged."""
        with _explained(self._name):
            try:
                self._expansion = self._expansion or _expand(self._raw)
                return next(self._expansion, b"")
            except _DAMAGE as error:
                reason = str(error) or "unexpected end"
                self.damage = f"the compressed stream breaks off after {format_bytes(self._total)} ({reason})"
                return b""

    def _check_size(self) -> None:
        if self._total > MAX_BYTES:
            raise InputError(
                f"{self._name} is larger than {format_bytes(MAX_BYTES)} once decompressed",
                next_step="If that is right, set ROCM_PERF_MAX_BYTES to allow it.",
            )
        if self._total > RATIO_FREE_BYTES and self._total > MAX_RATIO * min(self._raw.tell(), self._stored):
            raise _bomb(self._name)


def sources_of(path: Path) -> list[Source]:
    """The file itself, or every file inside it if it is a zip."""
    with path.open("rb") as raw:
        if raw.read(4) not in _ZIP:
            return [Source(path)]
    try:
        members = [info for info in _archive_of(path).infolist() if not info.is_dir()]
    except _ZIP_ERRORS as error:
        raise InputError(f"{path} is a damaged zip file", str(error)) from error
    if len(members) > MAX_ZIP_MEMBERS:
        raise InputError(
            f"{path} holds {len(members):,} files",
            f"more than {MAX_ZIP_MEMBERS:,} are not read",
            "Unpack it and name the folder of one run.",
        )
    repeated = [name for name, times in Counter(info.filename for info in members).items() if times > 1]
    if repeated:
        raise InputError(
            f"{path} holds two files called {repeated[0]}",
            "only one of them can be read, and it is not clear which one is meant",
            "Unpack it and name the folder of one run.",
        )
    # zipfile never gives more of a member than its directory promises.
    promised = sum(info.file_size for info in members)
    if promised > max(RATIO_FREE_BYTES, MAX_RATIO * path.stat().st_size):
        raise _bomb(str(path))
    return [Source(path, info.filename) for info in members if not _is_hidden(info.filename)]


def _is_hidden(member: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in member.split("/"))


def _bomb(name: str) -> InputError:
    return InputError(
        f"{name} expands more than {MAX_RATIO} times",
        "recordings do not, but decompression bombs do",
        "If it is a real recording, decompress it yourself and give the plain file.",
    )


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {name}", error.strerror or str(error)) from error
    except _ZIP_ERRORS as error:
        raise InputError(f"cannot read {name}", str(error)) from error


def _archive_of(path: Path) -> zipfile.ZipFile:
    """The open archive. It is cached, because each of thousands of members would read the directory again."""
    status = path.stat()
    return _archive(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)
def _archive(path: Path, *_version: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _member(path: Path, member: str) -> zipfile.ZipInfo:
    return _archive_of(path).getinfo(member)


def _expand(raw: IO[bytes]) -> Iterator[bytes]:
    first = raw.read(min(STORED_CHUNK_BYTES, CHUNK_BYTES))
    while 0 < len(first) < 4 and (more := raw.read(4 - len(first))):
        first += more
    if first.startswith(_GZIP):
        return _gunzip(raw, first)
    if _is_packed(first):
        return _unzstd(raw, first)
    return _plain(raw, first)


def _is_packed(first: bytes) -> bool:
    # pzstd starts with a frame to be skipped: 0x184D2A50 to 0x184D2A5F
    return first.startswith((_GZIP, _ZSTD)) or (first[1:4] == b"\x2a\x4d\x18" and first[0] >> 4 == 5)


def _plain(raw: IO[bytes], chunk: bytes) -> Iterator[bytes]:
    while chunk:
        yield chunk
        chunk = raw.read(CHUNK_BYTES)


def _gunzip(raw: IO[bytes], data: bytes) -> Iterator[bytes]:
    stream = isal_zlib.decompressobj(wbits=31)
    while data:
        if stream.eof:
            if len(data) < len(_GZIP):
                data += raw.read(1)
            if not data.startswith(_GZIP):
                if data.strip(b"\x00"):
                    raise EOFError("what follows is not gzip")
                return  # padding after the last member
            stream = isal_zlib.decompressobj(wbits=31)
        chunk = stream.decompress(data, CHUNK_BYTES)
        if chunk:
            yield chunk
        data = stream.unused_data if stream.eof else stream.unconsumed_tail
        if not data:
            data = raw.read(min(STORED_CHUNK_BYTES, CHUNK_BYTES))
    if not stream.eof:
        tail = stream.flush()
        if tail:
            yield tail
        if not stream.eof:
            raise EOFError("unexpected end of the gzip stream")


class _Rejoined:
    """A stream whose first bytes were read already; the watch sees everything that is read."""

    def __init__(self, first: bytes, raw: IO[bytes], watch: FrameWatch) -> None:
        self._first, self._raw, self._watch = first, raw, watch

    def read(self, size: int = -1) -> bytes:
        if self._first:
            data, self._first = self._first[:size], self._first[size:]
        else:
            data = self._raw.read(size)
        self._watch.feed(data)
        return data


def _unzstd(raw: IO[bytes], first: bytes) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW)
    watch = FrameWatch()
    rejoined = _Rejoined(first, raw, watch)
    with context.stream_reader(rejoined, read_across_frames=True, closefd=False) as stream:  # type: ignore[arg-type]
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk
    if not watch.at_end_of_frame:
        raise EOFError("unexpected end of the zstd stream")
