"""Hostile zips and SQLite pages: what no library writes, because it lies about its own size, place or form."""

from __future__ import annotations

import bz2
import lzma
import struct
import warnings
import zipfile
import zlib
from io import BytesIO
from random import Random

from tests.fuzz.hostile import HOSTILE_WORDS

NAMES = (
    "trace.json", "./trace.json", "./run/trace.json", "../up", "/top", "run\\trace.json", ".hidden", "a/../b", "",
    ".", "x\x00y", "\x1b[31m\n", "run/", "trace.db-wal", "trace.db", "é" * 200, "a" * 60_000,
)  # fmt: skip
_EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same random numbers give the same bytes
_LINK = 0o120777 << 16
_MEMBER = b"PK\x01\x02"  # its entry in the directory
_PAGES = struct.Struct(">I")


def zipped(data: bytes, random: Random) -> bytes:
    """The content in a zip whose names, methods, sizes, places or bytes need not be what they claim."""
    file = BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name are wanted
        for number in range(random.choice((1, 1, 2, 3))):
            info = zipfile.ZipInfo(
                random.choice(NAMES) if number or random.random() < 0.5 else "trace.json", _EPOCH
            )
            info.compress_type = method
            info.external_attr = _LINK if random.random() < 0.05 else 0o600 << 16
            archive.writestr(info, random.choice((data, zipped_once(data))) if number else data)
        archive.comment = random.choice((b"", b"", b"PK\x05\x06" + bytes(18), _MEMBER))
    return _with_lies(bytearray(file.getvalue()), random)


def zipped_once(data: bytes, name: str = "trace.json", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An honest zip of one member."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, method)
    return file.getvalue()


def _with_lies(archive: bytearray, random: Random) -> bytes:
    """Fields of the directory or of a member's own header replaced, or some of its bytes."""
    for _ in range(random.choice((0, 1, 1, 2))):
        entry = archive.find(_MEMBER)
        offset, size = random.choice(
            ((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (38, 4), (42, 4))
        )
        where = random.choice((entry + offset, random.randrange(len(archive))))
        value = random.choice((*HOSTILE_WORDS, 0, 1, 12, 14, 97, 100, len(archive)))
        if 0 <= where <= len(archive) - size:
            archive[where : where + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(archive)


def zip_claiming(stored: bytes, size: int, method: int, name: bytes = b"trace.json") -> bytes:
    """A zip of one member with these bytes, whatever they are, that claims to have a size once decompressed."""
    facts = (20, 0, method, 0, 0, zlib.crc32(b""), len(stored), size, len(name), 0)
    member = struct.pack("<4s5H3I2H", b"PK\x03\x04", *facts) + name + stored
    entry = struct.pack("<4s6H3I5H2I", _MEMBER, 20, *facts, 0, 0, 0, 0, 0) + name
    return member + entry + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(member), 0)


def zeros_as_bzip2(mebibytes: int) -> bytes:
    """Zeros, a million of which take one byte."""
    stream = bz2.BZ2Compressor()
    return b"".join(stream.compress(bytes(1 << 20)) for _ in range(mebibytes)) + stream.flush()


def zeros_as_lzma(mebibytes: int, dictionary: int = 1 << 20) -> bytes:
    """The same for LZMA as zip stores it, with a dictionary of that size."""
    stream = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, "preset": 1}])
    chunks = b"".join(stream.compress(bytes(1 << 20)) for _ in range(mebibytes))
    return struct.pack("<HHBI", 0x1009, 5, 93, dictionary) + chunks + stream.flush()


def change_page(data: bytes, random: Random) -> bytes | None:
    """A table whose pages lead to one page many times over, or one byte of the structure of a page."""
    size = page_bytes(data)
    pages = len(data) // size
    if not pages:
        return None
    page = random.randrange(pages) + 1
    if random.random() < 0.4:
        return with_endless_table(data, page, depth=random.choice((1, 2, 18)))
    changed = bytearray(data)
    where = (page - 1) * size + (100 if page == 1 else 0) + random.randrange(min(40, size))
    if where < len(changed):
        changed[where] = random.choice((0, 1, 2, 5, 10, 13, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(changed)


def page_bytes(data: bytes) -> int:
    """The size of a page of a database."""
    size = int.from_bytes(data[16:18], "big")
    return 65_536 if size == 1 else max(size, 512)


def with_endless_table(data: bytes, root: int, depth: int = 18, fan: int = 30) -> bytes:
    """The database with `fan ** depth` times the rows of the table that starts at a page: its pages lead to the same
    page again and again, which SQLite follows."""
    size = page_bytes(data)
    whole = len(data) // size * size
    pages = [data[start : start + size] for start in range(0, whole, size)]
    pages.append(pages[root - 1])
    for _ in range(depth - 1):
        pages.append(_inner_page(len(pages), size, fan))
    pages[root - 1] = _inner_page(len(pages), size, fan)
    header = bytearray(pages[0])
    _PAGES.pack_into(header, 28, len(pages))
    return b"".join((bytes(header), *pages[1:]))


def _inner_page(child: int, size: int, fan: int) -> bytes:
    page = bytearray(size)
    cells = b"".join(_PAGES.pack(child) + bytes([number + 1]) for number in range(fan))
    start = size - len(cells)
    struct.pack_into(">BHHHBI", page, 0, 5, 0, fan, start % 65_536, 0, child)
    for number in range(fan):
        struct.pack_into(">H", page, 12 + 2 * number, start + 5 * number)
    page[start:] = cells
    return bytes(page)
