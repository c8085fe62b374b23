"""JSON as profilers write it: often cut off, sometimes gigabytes. What is whole is read, what is lost is
said, and big event arrays are decoded piece by piece so that memory stays small."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import Reader, Source

T = TypeVar("T")

PIECE_BYTES = 8 << 20

_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)
_BETWEEN_OBJECTS = re.compile(rb"\}\s*,\s*(?=\{)")
_LIST_OF_OBJECTS_ENDS = re.compile(rb"\}\s*\]")


def top_level_keys(head: bytes) -> tuple[str, ...]:
    """The keys of the outermost object that the first bytes of a document show."""
    keys: list[str] = []
    depth = 0
    for match in re.finditer(rb'"(?:[^"\\]|\\.)*"(\s*:)?|[\[\]{}]', head, re.DOTALL):
        token = match.group()
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and match.group(1):
            keys.append(token[1 : token.rindex(b'"')].decode("utf-8", "replace"))
    return tuple(keys)


def decode(source: Source, type_: type[T]) -> tuple[T, str | None]:
    """The whole document, and what is wrong with it if it had to be mended."""
    content = source.read()
    try:
        return msgspec.json.decode(content.data, type=type_), content.damage
    except msgspec.ValidationError as error:
        raise InputError(f"{source.name} does not have the layout its format promises", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = content.damage or f"the document is not whole ({error})"
    mended = mend(content.data)
    try:
        return msgspec.json.decode(mended, type=type_), reason
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{source.name} is not readable JSON", reason) from error


def mend(data: bytes) -> bytes:
    """A document that was cut off, closed behind its last whole element."""
    stack: list[bytes] = []
    cut, closers = 0, b""
    for match in _STRUCTURE.finditer(data):
        token = match.group()
        if token in (b"{", b"["):
            stack.append(b"}" if token == b"{" else b"]")
            if token == b"[":
                cut, closers = match.end(), b"".join(reversed(stack))
        elif token in (b"}", b"]"):
            if not stack or stack.pop() != token:
                break
            cut, closers = match.end(), b"".join(reversed(stack))
        elif token == b"," and stack:
            cut, closers = match.start(), b"".join(reversed(stack))
    return data[:cut] + closers


class EventArray(Generic[T]):
    """The objects of one big array inside a document, decoded piece by piece.

    `prefix` and `suffix` hold what stands before and behind the array; `damage` says why not every
    element could be read.
    """

    def __init__(self, source: Source, key: str | None, decode_piece: Callable[[bytes], T]) -> None:
        self.prefix = b""
        self.suffix = b""
        self.damage: str | None = None
        self._source = source
        self._key = key
        self._decode = decode_piece

    def __iter__(self) -> Iterator[T]:
        with self._source.reader() as reader:
            buffer = self._skip_to_array(reader)
            ended = False
            while not ended:
                buffer, ended = _fill(buffer, reader)
                piece, buffer, closed = self._take(buffer, ended)
                if piece is not None:
                    yield piece
                if closed:
                    self.suffix = buffer + b"".join(reader)
                    break
            self.damage = self.damage or reader.damage

    def _skip_to_array(self, reader: Reader) -> bytes:
        buffer = b""
        marker = re.compile(
            rb"\s*\[" if self._key is None else rb'"' + re.escape(self._key.encode()) + rb'"\s*:\s*\['
        )
        for chunk in reader:
            buffer += chunk
            found = marker.match(buffer) if self._key is None else marker.search(buffer)
            if found:
                self.prefix = buffer[: found.end() - 1]
                return buffer[found.end() :]
        self.prefix = buffer
        return b""

    def _take(self, buffer: bytes, ended: bool) -> tuple[T | None, bytes, bool]:
        """Decode as much of the buffer as is whole: (piece, rest, whether the array closed)."""
        if ended:
            return self._take_last(buffer)
        for cut in _cuts_from_end(buffer):
            piece = self._try(b"[" + buffer[: cut.start() + 1] + b"]")
            if piece is not None:
                return piece, buffer[cut.end() :], False
        return self._close_early(buffer)

    def _close_early(self, buffer: bytes) -> tuple[T | None, bytes, bool]:
        """The array ends inside this buffer, or one element is larger than it."""
        end = array_end(buffer)
        if end is None:
            return None, buffer, False
        piece = self._try(b"[" + buffer[:end] + b"]")
        if piece is None:
            self.damage = "an element of the event list is not valid JSON"
        return piece, buffer[end + 1 :], True

    def _take_last(self, buffer: bytes) -> tuple[T | None, bytes, bool]:
        for close in _closes_from_end(buffer):
            piece = self._try(b"[" + buffer[: close.start() + 1] + b"]")
            if piece is not None:
                return piece, buffer[close.end() :], True
        end = array_end(buffer)
        if end is not None:
            piece = self._try(b"[" + buffer[:end] + b"]")
            if piece is None:
                self.damage = "an element of the event list is not valid JSON"
            return piece, buffer[end + 1 :], True
        mended = mend(b"[" + buffer)
        self.damage = "the event list breaks off before its end"
        return self._try(mended), b"", True

    def _try(self, data: bytes) -> T | None:
        try:
            return self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None


def array_end(buffer: bytes) -> int | None:
    """Where the array that `buffer` starts inside of is closed."""
    depth = 0
    for match in _STRUCTURE.finditer(buffer):
        token = match.group()
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            if depth == 0:
                return match.start()
            depth -= 1
    return None


def _fill(buffer: bytes, chunks: Reader) -> tuple[bytes, bool]:
    parts = [buffer]
    size = len(buffer)
    goal = max(PIECE_BYTES, size + PIECE_BYTES // 2)
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= goal:
            return b"".join(parts), False
    return b"".join(parts), True


def _closes_from_end(buffer: bytes, tries: int = 16) -> list[re.Match[bytes]]:
    """Places where the list may end, last first. A wrong one cannot decode: a bracket is left over."""
    closes = list(_LIST_OF_OBJECTS_ENDS.finditer(buffer, max(0, len(buffer) - (1 << 16))))
    return closes[::-1][:tries]


def _cuts_from_end(buffer: bytes, tries: int = 64) -> Iterator[re.Match[bytes]]:
    """Places between two objects, last first. A wrong one cannot decode: it leaves a bracket open."""
    window = 1 << 16
    cuts: list[re.Match[bytes]] = []
    while not cuts and window <= 2 * len(buffer):
        cuts = list(_BETWEEN_OBJECTS.finditer(buffer, max(0, len(buffer) - window)))
        window *= 16
    yield from list(reversed(cuts))[:tries]
