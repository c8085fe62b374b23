"""One recorded file, wherever it lies: plain, gzip, zstd, or a member of a zip. Sizes are bounded, and
a stream that ends early yields what it has and says so."""

from __future__ import annotations

import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol, cast

import msgspec
import zstandard
from isal import isal_zlib

from rocm_perf.environment import whole_number
from rocm_perf.errors import InputError
from rocm_perf.ingest.io import archive
from rocm_perf.ingest.io.zstd_frames import FrameWatch
from rocm_perf.units import format_bytes

CHUNK_BYTES = 512 << 10
STORED_CHUNK_BYTES = 256 << 10  # of a compressed file at a time, to notice a decompression bomb early
HEAD_BYTES = 64 << 10
OUTLINE_BYTES = 4 << 20  # enough to tell how far a file expands

# A recording expands 10 to 40 times; a bomb a thousand times or more.
MAX_BYTES = whole_number("ROCM_PERF_MAX_BYTES", 32 << 30)
MAX_RATIO = 250
RATIO_FREE_BYTES = 64 << 20
MAX_TEXT_RATIO = 1000  # events that name their texts by number: 20 bytes, and a long operation of a TPU
TEXT_FREE_BYTES = 256 << 20
MAX_ZSTD_WINDOW = 128 << 20  # zstd's own limit without --long

# Called with (name, bytes read, bytes stored) while a source is read; the command line shows it.
PROGRESS: ContextVar[Callable[[str, int, int], None] | None] = ContextVar("progress", default=None)

# Asked before a file is opened, those beside a recording included; a server sets it to the folders it was given.
MAY_OPEN: ContextVar[Callable[[Path], bool]] = ContextVar("may_open", default=lambda _path: True)

# What a file was when it was looked at: its size, time and number; its kind alone if it is no plain file.
FileState = tuple[int, ...] | None
_CONSULTED: ContextVar[dict[str, FileState] | None] = ContextVar("consulted", default=None)

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and without
_GZIP_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub calls it an instance
_DAMAGE = (EOFError, zlib.error, _GZIP_ERROR, zstandard.ZstdError, zipfile.BadZipFile)


class Stored(Protocol):
    """A file or a member of a zip, before gzip or zstd is undone; `tell` counts the bytes on disk."""

    def read(self, size: int, /) -> bytes: ...
    def tell(self) -> int: ...


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
        last = self._inside.name if self.member else self.path.name
        for suffix in (".gz", ".zst"):
            last = last.removesuffix(suffix)
        return last

    @property
    def folder(self) -> Path:
        return (self.path / self._inside).parent if self.member else self.path.parent

    @property
    def _inside(self) -> Path:
        """The place of a member in its archive, wherever its path claims to lead."""
        return Path(*archive.parts_of(self.member or ""))

    def beside(self, ending: str) -> Source:
        """The file of the same name and this ending, where links lead to; its `stored_bytes` are 0 if there is none."""
        if self.member is None:
            path = self.path.resolve()
            return Source(path.with_name(path.name + ending))
        return Source(self.path, self.member + ending)

    @property
    def stored_bytes(self) -> int:
        """Size on disk; 0 if it no longer exists."""
        try:
            size = self.path.stat().st_size
            # The directory of a zip can claim any size, but not that a member is larger than the zip.
            member = self.member and archive.member_of(self.path, self.member)
            return min(size, member.compress_size) if member else size
        except (OSError, *archive.ERRORS):
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
            self.write_to(plain)
            yield plain

    def write_to(self, plain: Path) -> None:
        """Write the decompressed content to a file; raises where it breaks off."""
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
    def _open(self) -> Iterator[Stored]:
        if not MAY_OPEN.get()(self.path):
            raise InputError(f"{self.path} is not read", "it leads out of the folders that may be read")
        if self.member is None:
            with self.path.open("rb") as raw:
                yield raw
        else:
            with closing(archive.open_member(self.path, self.member)) as content:
                yield content


class Content(msgspec.Struct, frozen=True):
    """Decompressed bytes, and why some are missing if they are."""

    data: bytes
    damage: str | None


class Reader:
    """Iterates over the decompressed content of one source, within the bounds."""

    def __init__(self, raw: Stored, name: str, stored_bytes: int) -> None:
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


def is_plausible_text(text_bytes: int, file_bytes: int) -> bool:
    """Whether rows of a file may have so much text, each with what it names by number; one text of a megabyte that all
    rows name is a decompression bomb."""
    return text_bytes <= max(TEXT_FREE_BYTES, MAX_TEXT_RATIO * file_bytes)


@contextmanager
def consulting() -> Iterator[dict[str, FileState]]:
    """While active, collects the files outside of the recordings that are looked at, those that are missing included:
    what is found depends on them too."""
    consulted: dict[str, FileState] = {}
    token = _CONSULTED.set(consulted)
    try:
        yield consulted
    finally:
        _CONSULTED.reset(token)


def note_consulted(*paths: Path | str, states: Mapping[str, FileState] | None = None) -> None:
    """Say which files are about to be looked at, or what others were when that was done elsewhere."""
    consulted = _CONSULTED.get()
    if consulted is not None:
        for name in map(str, paths):
            if name not in consulted:
                consulted[name] = state_of(name)
        consulted.update(states or {})


def state_of(path: Path | str) -> FileState:
    """What tells this file from a later one of the same name; None where there is none."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(facts.st_mode):
        return (stat.S_IFMT(facts.st_mode),)
    return (
        facts.st_size,
        facts.st_mtime_ns,
        facts.st_ino,
    )  # SQLite, as root, changes the owner: ctime is another


def sources_of(path: Path) -> list[Source]:
    """The file itself, or every file inside it if it is a zip."""
    with path.open("rb") as raw:
        if raw.read(4) not in _ZIP:
            return [Source(path)]
    members = archive.members_of(path)
    promised = sum(info.file_size for info in members)  # no more of a member is read
    if promised > max(RATIO_FREE_BYTES, MAX_RATIO * path.stat().st_size):
        raise _bomb(str(path))
    return [Source(path, info.filename) for info in members]


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
    except archive.ERRORS as error:
        raise InputError(f"cannot read {name}", str(error)) from error


def _expand(raw: Stored) -> Iterator[bytes]:
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


def _plain(raw: Stored, chunk: bytes) -> Iterator[bytes]:
    while chunk:
        yield chunk
        chunk = raw.read(CHUNK_BYTES)


def _gunzip(raw: Stored, data: bytes) -> Iterator[bytes]:
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

    def __init__(self, first: bytes, raw: Stored, watch: FrameWatch) -> None:
        self._first, self._raw, self._watch = first, raw, watch

    def read(self, size: int = -1) -> bytes:
        if self._first:
            data, self._first = self._first[:size], self._first[size:]
        else:
            data = self._raw.read(size)
        self._watch.feed(data)
        return data


def _unzstd(raw: Stored, first: bytes) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW)
    watch = FrameWatch()
    rejoined = _Rejoined(first, raw, watch)
    with context.stream_reader(rejoined, read_across_frames=True, closefd=False) as stream:  # type: ignore[arg-type]
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk
    if not watch.at_end_of_frame:
        raise EOFError("unexpected end of the zstd stream")
