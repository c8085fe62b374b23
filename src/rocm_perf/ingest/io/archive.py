"""Zip files: which of their members are read, and the bytes of one, never more at a time than is asked for.

Python's own reader decompresses all of what it has read of bzip2 and LZMA at once, which is gigabytes of a few hundred
kilobytes, and gives LZMA as large a dictionary as the file asks for. So members are taken as they are stored, and
decompressed here.
"""

from __future__ import annotations

import bz2
import copy
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, cast

from isal import isal_zlib

from rocm_perf.errors import InputError
from rocm_perf.units import format_bytes, format_count

MAX_MEMBERS = 10_000
_MAX_DIRECTORY_BYTES = 4 << 20  # ten thousand members with long names take half of it
_MAX_DICTIONARY_BYTES = 128 << 20  # 7-Zip's largest preset takes 64 MiB
_LEAST_DICTIONARY_BYTES = 4096
_CHUNK_BYTES = 256 << 10
_ENCRYPTED = 1  # the lowest of the flags of a member
_LZMA_HEADER = struct.Struct("<2xHBI")  # size of the properties; lc, lp and pb in one; the dictionary
_METHODS = {
    zipfile.ZIP_STORED: "stored",
    zipfile.ZIP_DEFLATED: "deflate",
    zipfile.ZIP_BZIP2: "bzip2",
    zipfile.ZIP_LZMA: "LZMA",
}
# What zipfile raises on hostile headers, beside BadZipFile and OSError.
ERRORS = (zipfile.BadZipFile, RuntimeError, ValueError, KeyError, EOFError, struct.error, OverflowError)


def members_of(path: Path) -> list[zipfile.ZipInfo]:
    """The files in an archive, without hidden ones. Raises where there are too many, or two with one name."""
    try:
        members = [info for info in _archive_of(path).infolist() if not info.filename.endswith("/")]
    except ERRORS as error:
        raise InputError(f"{path} is a damaged zip file", str(error)) from error
    if len(members) > MAX_MEMBERS:
        raise _too_many(path, format_count(len(members), "file"))
    times = Counter("/".join(parts_of(info.filename)) for info in members)
    repeated = [name for name, count in times.items() if count > 1]
    if repeated:
        raise InputError(
            f"{path} holds two files called {repeated[0]}",
            "only one of them can be read, and it is not clear which one is meant",
            "Unpack it and name the folder of one run.",
        )
    return [info for info in members if not _is_hidden(info.filename)]


def parts_of(member: str) -> list[str]:
    """The folders and the name of a member below the archive, wherever its path claims to lead."""
    return [part for part in member.replace("\\", "/").split("/") if part not in ("", ".", "..")]


def member_of(path: Path, member: str) -> zipfile.ZipInfo:
    """What the directory of an archive says of a member."""
    return _archive_of(path).getinfo(member)


def open_member(path: Path, member: str) -> Content:
    """The content of a member. Raises where only another program can unpack it."""
    info = member_of(path, member)
    if info.flag_bits & _ENCRYPTED:
        raise InputError(
            f"cannot read {path}!{member}",
            "it is encrypted",
            "Unpack the archive with its password, and name the folder.",
        )
    if info.compress_type not in _METHODS:
        raise InputError(
            f"cannot read {path}!{member}",
            f"it is compressed by zip's method {info.compress_type}; those read are {', '.join(_METHODS.values())}",
            "Unpack the archive, and name the folder.",
        )
    stored = copy.copy(info)
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
    del stored.CRC  # that of the content: as it is stored, there is none
    return Content(_archive_of(path).open(stored), info)


class Content:
    """What a member holds, as far as it is read; it ends with an error where it is damaged."""

    def __init__(self, stored: IO[bytes], info: zipfile.ZipInfo) -> None:
        self._stored = stored
        self._left = info.file_size
        self._crc, self._right_crc = 0, info.CRC
        self._pending = b""
        self._chunks = _expanded(stored, info)

    def read(self, size: int) -> bytes:
        """As many bytes; fewer only at the end."""
        parts = []
        while size and (chunk := self._pending or self._following()):
            parts.append(chunk[:size])
            self._pending = chunk[size:]
            size -= len(parts[-1])
        return b"".join(parts)

    def tell(self) -> int:
        """How many bytes were read as they are stored."""
        return self._stored.tell()

    def close(self) -> None:
        self._stored.close()

    def _following(self) -> bytes:
        """The next chunk, of no more than the directory promises."""
        if not self._left:
            return b""
        chunk = next(self._chunks, b"")[: self._left]
        if not chunk:
            raise EOFError("unexpected end of the member")
        self._left -= len(chunk)
        self._crc = zlib.crc32(chunk, self._crc)
        if not self._left and self._crc != self._right_crc:
            raise zipfile.BadZipFile("its checksum does not fit")
        return chunk


def _expanded(stored: IO[bytes], info: zipfile.ZipInfo) -> Iterator[bytes]:
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return _inflated(stored)
    if info.compress_type == zipfile.ZIP_BZIP2:
        return _unpacked(stored, bz2.BZ2Decompressor())
    if info.compress_type == zipfile.ZIP_LZMA:
        return _unpacked(stored, _lzma_of(stored.read(_LZMA_HEADER.size), info.file_size))
    return iter(lambda: stored.read(_CHUNK_BYTES), b"")


def _inflated(stored: IO[bytes]) -> Iterator[bytes]:
    stream = isal_zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    while not stream.eof and (data := stream.unconsumed_tail or stored.read(_CHUNK_BYTES)):
        if chunk := stream.decompress(data, _CHUNK_BYTES):
            yield chunk
    if not stream.eof:
        yield stream.flush()


def _unpacked(stored: IO[bytes], stream: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> Iterator[bytes]:
    while not stream.eof:
        data = stored.read(_CHUNK_BYTES) if stream.needs_input else b""
        if stream.needs_input and not data:
            return
        try:
            chunk = stream.decompress(data, _CHUNK_BYTES)
        except (OSError, lzma.LZMAError) as error:
            raise zipfile.BadZipFile(str(error)) from error
        if chunk:
            yield chunk


def _lzma_of(header: bytes, size: int) -> lzma.LZMADecompressor:
    """What decompresses a member; nothing in it can refer further back than it is long."""
    if len(header) < _LZMA_HEADER.size:
        raise EOFError("unexpected end of the member")
    properties_size, properties, dictionary = _LZMA_HEADER.unpack(header)
    needed = max(min(dictionary, size), _LEAST_DICTIONARY_BYTES)
    if needed > _MAX_DICTIONARY_BYTES:
        most = format_bytes(_MAX_DICTIONARY_BYTES)
        raise zipfile.BadZipFile(f"its dictionary of {format_bytes(needed)} is larger than {most}")
    rest, lc = divmod(properties, 9)
    pb, lp = divmod(rest, 5)
    chosen = {"id": lzma.FILTER_LZMA1, "lc": lc, "lp": lp, "pb": pb, "dict_size": needed}
    try:
        if properties_size != _LZMA_HEADER.size - 4:
            raise ValueError("its properties have another size")
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[chosen])
    except (ValueError, lzma.LZMAError) as error:
        raise zipfile.BadZipFile(f"it is not LZMA as zip has it ({error})") from error


def _is_hidden(member: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in parts_of(member))


def _archive_of(path: Path) -> zipfile.ZipFile:
    """The open archive. It is cached, because each of thousands of members would read the directory again."""
    status = path.stat()
    return _archive(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)
def _archive(path: Path, *_version: int) -> zipfile.ZipFile:
    return _Archive(path)


class _Archive(zipfile.ZipFile):
    """An archive whose directory is not read if it is far larger than that of a recording."""

    def __init__(self, path: Path) -> None:
        self._file = _File(path)
        try:
            super().__init__(cast("IO[bytes]", self._file))
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        super().close()
        self._file.close()


class _File(io.FileIO):
    """A file that is not read in one piece if that is larger than a directory may be."""

    def read(self, size: int | None = -1, /) -> bytes:
        to_the_end = os.fstat(self.fileno()).st_size - self.tell()
        wanted = to_the_end if size is None or size < 0 else min(size, to_the_end)
        if wanted > _MAX_DIRECTORY_BYTES:
            raise _too_many(Path(str(self.name)), f"a directory of {format_bytes(wanted)}")
        return super().read(max(wanted, 0)) or b""


def _too_many(path: Path, what: str) -> InputError:
    return InputError(
        f"{path} holds {what}",
        f"no more than {MAX_MEMBERS:,} files are read",
        "Unpack it and name the folder of one run.",
    )
