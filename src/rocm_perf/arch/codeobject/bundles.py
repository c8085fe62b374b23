"""Clang offload bundles, plain and compressed (Clang, ClangOffloadBundler): several code objects in one file."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from rocm_perf.errors import InputError

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"

_EITHER = re.compile(re.escape(MAGIC) + b"|" + re.escape(COMPRESSED_MAGIC))
_MOST_ENTRIES = 4096
_MOST_ID_BYTES = 4096
_MOST_UNPACKED = 1 << 30  # of one bundle
_MOST_UNPACKED_IN_ALL = 4 << 30
_ZLIB, _ZSTD = 0, 1

# After the magic, by version: version, method, [size of the whole,] unpacked size, hash.
_HEADERS = {1: struct.Struct("<4sHHIQ"), 2: struct.Struct("<4sHHIIQ"), 3: struct.Struct("<4sHHQQQ")}


class Entry(msgspec.Struct, frozen=True):
    """One code object of a bundle."""

    place: str
    data: memoryview


def entries(data: memoryview, name: str) -> Iterator[Entry]:
    """The GPU entries of all bundles in the data, which follow one another."""
    position, number, unpacked_in_all = 0, 0, 0
    while magic := _EITHER.search(data, position):
        number += 1
        start = magic.start()
        label = f"{name}, bundle {number}" if number > 1 or magic.end() < len(data) else name
        if magic.group() == COMPRESSED_MAGIC:
            bundle, end = _unpacked(data[start:], label, _MOST_UNPACKED_IN_ALL - unpacked_in_all)
            unpacked_in_all += len(bundle)
            listed = _listed(memoryview(bundle), label)
        else:
            listed = _listed(data[start:], label)
            end = max((offset + size for _, offset, size in listed), default=len(MAGIC))
            bundle = b""
        source = memoryview(bundle) if bundle else data[start:]
        for target, offset, size in listed:
            if size and not target.startswith("host"):
                yield Entry(f"{label}: {target}", source[offset : offset + size])
        position = start + max(end, len(COMPRESSED_MAGIC))
    if not number:
        raise InputError(f"cannot read {name}", "it does not contain an offload bundle")


def _listed(data: memoryview, label: str) -> list[tuple[str, int, int]]:
    """The (target, offset, size) of every entry."""
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise InputError(f"cannot read {label}", "its compressed content is not an offload bundle")
    count = _integer(data, len(MAGIC), label)
    if count > _MOST_ENTRIES:
        raise InputError(f"cannot read {label}", f"it claims {count:,} entries, more than {_MOST_ENTRIES:,}")
    listed, position = [], len(MAGIC) + 8
    for _ in range(count):
        offset, size, length = (_integer(data, position + 8 * field, label) for field in range(3))
        position += 24
        if length > _MOST_ID_BYTES or position + length > len(data) or offset + size > len(data):
            raise InputError(f"cannot read {label}", "an entry lies beyond its end: it is cut off or damaged")
        listed.append((bytes(data[position : position + length]).decode("utf-8", "replace"), offset, size))
        position += length
    _check_apart(listed, label)
    return listed


def _check_apart(listed: list[tuple[str, int, int]], label: str) -> None:
    """Refuses entries that share bytes: they would let a small file claim any amount of code."""
    taken = sorted((offset, size) for _, offset, size in listed if size)
    if any(offset + size > following for (offset, size), (following, _) in pairwise(taken)):
        raise InputError(f"cannot read {label}", "its entries overlap: it is damaged")


def _unpacked(data: memoryview, label: str, budget: int) -> tuple[bytes, int]:
    """The content of a compressed bundle, and where the bundle ends."""
    version = int.from_bytes(data[4:6], "little")
    header = _HEADERS.get(version)
    if header is None or len(data) < header.size:
        raise InputError(
            f"cannot read {label}",
            f"compressed bundle version {version} is unknown, or the bundle is cut off",
        )
    _, _, method, *sizes, _hash = header.unpack(data[: header.size])
    end = sizes[0] if len(sizes) > 1 else len(data)
    expected = sizes[-1]
    if not header.size <= end <= len(data):
        raise InputError(f"cannot read {label}", "the compressed bundle is cut off")
    if expected > min(_MOST_UNPACKED, budget):
        raise InputError(f"cannot read {label}", f"it would unpack to {expected:,} bytes, which is too much")
    unpacked = _decompressed(bytes(data[header.size : end]), method, expected, label)
    if len(unpacked) != expected:
        raise InputError(f"cannot read {label}", f"its unpacked size is not the {expected:,} bytes it states")
    return unpacked, end


def _decompressed(packed: bytes, method: int, expected: int, label: str) -> bytes:
    """The unpacked data, at most one byte more than expected."""
    import zstandard

    try:
        if method == _ZSTD:
            return zstandard.ZstdDecompressor().stream_reader(packed).read(expected + 1)
        if method == _ZLIB:
            return zlib.decompressobj().decompress(packed, expected + 1)
    except (zstandard.ZstdError, zlib.error) as error:
        raise InputError(f"cannot read {label}", f"the compressed bundle is damaged: {error}") from error
    raise InputError(f"cannot read {label}", f"compression method {method} is unknown")


def _integer(data: memoryview, position: int, label: str) -> int:
    if position + 8 > len(data):
        raise InputError(f"cannot read {label}", "the bundle is cut off")
    return int.from_bytes(data[position : position + 8], "little")
