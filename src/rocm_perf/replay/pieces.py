"""Files in pieces of 4 MiB, so that all cores hash, compress and unpack one large file at once.

A compressed file is a row of zstd frames, one per piece: `zstd -d` reads it as well. The hash of a file is SHA-256; of
a file of more than one piece it is the SHA-256 of its pieces' SHA-256 sums, one behind the other.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import zstandard

PIECE = 4 << 20
BLOCK = 64 << 10  # the unit of holes, as in the native part
_LEVEL = 1
_WORKERS = min(16, os.cpu_count() or 1)
_ZEROS = bytes(PIECE)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Span:
    """Where a piece lies: in the contents, and in the file that holds it."""

    offset: int
    length: int
    stored_at: int
    stored_length: int


def count_of(size: int) -> int:
    """How many pieces so many bytes make: an empty file is one, too."""
    return max(1, -(-size // PIECE))


def spans(size: int, frames: Sequence[int] = ()) -> Iterator[Span]:
    """The pieces of so many bytes, stored as they are or as frames of these sizes."""
    if frames and len(frames) != count_of(size):
        raise ValueError(f"{len(frames)} compressed pieces cannot hold {size} bytes")
    at = 0
    for place in range(count_of(size)):
        start = place * PIECE
        length = min(PIECE, size - start)
        stored = frames[place] if frames else length
        yield Span(offset=start, length=length, stored_at=at, stored_length=stored)
        at += stored


def hash_of(sums: Iterable[bytes]) -> str:
    """The hash of a whole file, by the sums of its pieces."""
    left = iter(sums)
    first = next(left)
    whole, is_one = hashlib.sha256(first), True
    for one in left:
        whole.update(one)
        is_one = False
    return first.hex() if is_one else whole.hexdigest()


def is_zero(data: bytes) -> bool:
    return data == (_ZEROS if len(data) == PIECE else bytes(len(data)))


def sum_of(data: bytes) -> bytes:
    return zero_sum(len(data)) if is_zero(data) else hashlib.sha256(data).digest()


@cache
def zero_sum(length: int) -> bytes:
    return hashlib.sha256(bytes(length)).digest()


def compressed(data: bytes) -> bytes:
    return _zero_frame(len(data)) if is_zero(data) else _tools().compressor.compress(data)


@cache
def _zero_frame(length: int) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(bytes(length))


def decompressed(frame: bytes, length: int) -> bytes:
    """The piece in a frame: never more than it can hold, whatever the frame says, and nothing behind it."""
    if zstandard.frame_content_size(frame) != length:
        raise zstandard.ZstdError("a compressed piece is not of its size")
    data = _tools().decompressor.decompress(frame, max_output_size=length, allow_extra_data=False)
    if len(data) != length:
        raise zstandard.ZstdError("a compressed piece is not of its size")
    return data


def write_sparse(handle: int, data: bytes, offset: int) -> None:
    """Write the data at an offset; blocks of zeros stay holes."""
    if is_zero(data):
        return
    for start in range(0, len(data), BLOCK):
        block = data[start : start + BLOCK]
        if not is_zero(block):
            write_at(handle, block, offset + start)


def write_at(handle: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view, offset)
        view, offset = view[written:], offset + written


def read_at(handle: int, offset: int, length: int) -> bytes:
    """So many bytes, or fewer where the file ends."""
    parts, got = [], 0
    while got < length and (part := os.pread(handle, length - got, offset + got)):
        parts.append(part)
        got += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def is_hole(handle: int, offset: int, length: int) -> bool:
    """Whether nothing of a stretch of a file was ever written, so that it holds zeros."""
    try:
        return os.lseek(handle, offset, os.SEEK_DATA) >= offset + length
    except OSError as error:
        return error.errno == errno.ENXIO  # no data up to the end of the file


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    known: Callable[[Item], Result | None] = lambda _: None,
) -> Iterator[Result]:
    """The results in the order of the items; a few are worked on at a time. `known` gives those that take no work."""
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(max_workers=_WORKERS) as pool:
        try:
            for item in items:
                result = known(item)
                waiting.append(pool.submit(work, item) if result is None else _done(result))
                if len(waiting) > 2 * _WORKERS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for job in waiting:
                job.cancel()


def _done(result: Result) -> Future[Result]:
    future: Future[Result] = Future()
    future.set_result(result)
    return future


class _Tools(threading.local):
    """A compressor serves one thread at a time."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


@cache
def _tools() -> _Tools:
    return _Tools()
