"""CUDA fat binaries, the container in `.nv_fatbin`. It is not documented: its fields are those that nvcc 13 writes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from rocm_perf.errors import InputError

MAGIC = b"\x50\xed\x55\xba"

_CONTAINER = struct.Struct("<4sHHQ")  # magic, version, header bytes, bytes after the header
_ENTRY = struct.Struct("<H2xIQI8xI8xQ8xQ")
_PTX, _CUBIN = 1, 2
_LZ4, _ZSTD = 0x2000, 0x8000
_MOST_UNPACKED = 1 << 30
_MOST_UNPACKED_LZ4 = 64 << 20  # unpacked in Python, at about 20 MB a second
_MOST_ENTRIES = 100_000


class _Header(NamedTuple):
    """The fields used here of the header before an image."""

    kind: int
    header_bytes: int
    size_bytes: int
    packed_bytes: int  # 0 where nothing is compressed or padded
    arch: int
    flags: int
    unpacked_bytes: int


class FatbinEntry(msgspec.Struct, frozen=True):
    """One image; if its data is empty, `unread` says why."""

    place: str
    arch: str
    is_ptx: bool
    data: memoryview
    size_bytes: int
    unread: str | None = None


def entries(
    data: memoryview, name: str, is_wanted: Callable[[str], bool] = lambda _: True
) -> Iterator[FatbinEntry]:
    """The images of all containers in the data, which follow one another and are padded with zeros. Those for an
    architecture that is not wanted are not unpacked, and say so."""
    position, count = 0, 0
    while position + _CONTAINER.size <= len(data):
        magic, _version, header, size = _CONTAINER.unpack_from(data, position)
        if magic != MAGIC:
            position += 8
            continue
        end = position + header + size
        if header < _CONTAINER.size or end > len(data):
            raise InputError(f"cannot read {name}", "the fat binary is cut off or damaged")
        for entry in _of_container(data[position + header : end], name, is_wanted):
            count += 1
            if count > _MOST_ENTRIES:
                raise InputError(f"cannot read {name}", f"it claims more than {_MOST_ENTRIES:,} images")
            yield entry
        position = end
    if not count:
        raise InputError(f"cannot read {name}", "the fat binary does not contain an image")


def _of_container(data: memoryview, name: str, is_wanted: Callable[[str], bool]) -> Iterator[FatbinEntry]:
    position = 0
    while position + _ENTRY.size <= len(data):
        header = _Header(*_ENTRY.unpack_from(data, position))
        start, end = position + header.header_bytes, position + header.header_bytes + header.size_bytes
        if header.header_bytes < _ENTRY.size or end > len(data):
            raise InputError(f"cannot read {name}", "an image of the fat binary lies beyond its end")
        yield _entry(name, header, data[start:end], is_wanted)
        position = end


def _entry(name: str, header: _Header, payload: memoryview, is_wanted: Callable[[str], bool]) -> FatbinEntry:
    is_ptx = header.kind == _PTX
    target = f"{'compute' if is_ptx else 'sm'}_{header.arch}"
    place = f"{name}: {target}"
    payload = payload[: header.packed_bytes or None]
    if header.kind not in (_PTX, _CUBIN):
        why = f"image kind {header.kind} is unknown"
        return FatbinEntry(
            place=place, arch=target, is_ptx=False, data=payload[:0], size_bytes=len(payload), unread=why
        )
    if not is_wanted(target):
        why = "it is for another architecture"
        return FatbinEntry(
            place=place, arch=target, is_ptx=is_ptx, data=payload[:0], size_bytes=len(payload), unread=why
        )
    if header.flags & _LZ4 and not is_ptx:
        if header.unpacked_bytes > _MOST_UNPACKED_LZ4:
            why = "it is large and compressed with LZ4; cuobjdump -xelf all unpacks it"
            return FatbinEntry(
                place=place, arch=target, is_ptx=is_ptx, data=payload[:0], size_bytes=len(payload), unread=why
            )
        payload = memoryview(unpacked_lz4(payload, header.unpacked_bytes, place))
    if header.flags & _ZSTD:
        payload = memoryview(_unpacked(payload, header.unpacked_bytes, place))
    why_not = "PTX has no registers yet: the driver compiles it at load" if is_ptx else None
    return FatbinEntry(
        place=place, arch=target, is_ptx=is_ptx, data=payload, size_bytes=len(payload), unread=why_not
    )


def _unpacked(payload: memoryview, size: int, place: str) -> bytes:
    import zstandard

    if size > _MOST_UNPACKED:
        raise InputError(f"cannot read {place}", f"it would unpack to {size:,} bytes, which is too much")
    try:
        unpacked = zstandard.ZstdDecompressor().stream_reader(bytes(payload)).read(size + 1)
    except zstandard.ZstdError as error:
        raise InputError(f"cannot read {place}", f"the image is damaged: {error}") from error
    if len(unpacked) != size:
        raise InputError(f"cannot read {place}", f"its unpacked size is not the {size:,} bytes it states")
    return unpacked


def unpacked_lz4(packed: memoryview, size: int, place: str) -> bytes:
    """The content of an LZ4 block of a known size (LZ4 block format: literals, then a match that may overlap)."""
    out, position, data = bytearray(), 0, bytes(packed)
    try:
        while position < len(data) and len(out) < size:
            token = data[position]
            literals, position = _lz4_length(token >> 4, data, position + 1)
            out += data[position : position + literals]
            position += literals
            if position >= len(data) or len(out) >= size:
                break
            offset = data[position] | data[position + 1] << 8
            length, position = _lz4_length(token & 15, data, position + 2)
            length += 4
            if not 0 < offset <= len(out) or len(out) + length > size:
                raise InputError(f"cannot read {place}", "the image is damaged: a match lies outside of it")
            start = len(out) - offset
            repeated = out[start : start + length]
            out += (repeated * (length // offset + 1))[:length] if offset < length else repeated
    except IndexError as error:
        raise InputError(f"cannot read {place}", "the image is damaged: it breaks off") from error
    if len(out) != size:
        raise InputError(f"cannot read {place}", f"its unpacked size is not the {size:,} bytes it states")
    return bytes(out)


def _lz4_length(nibble: int, data: bytes, position: int) -> tuple[int, int]:
    """A length whose further bytes follow where the nibble is full, and where they end."""
    length = nibble
    while nibble == 15:
        more = data[position]
        position += 1
        length += more
        if more != 255:
            break
    return length, position
