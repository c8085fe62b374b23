"""JSON as profilers write it: often truncated, sometimes gigabytes. Complete records are read, losses are reported, and
big event arrays are decoded piece by piece to save memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.outline import Outline, elements, mend, runs, string_end
from rocm_perf.ingest.io.source import Reader, Source
from rocm_perf.units import format_bytes, format_count

__all__ = ["EventArray", "decode", "mend", "nothing_read", "top_level_keys"]

T = TypeVar("T")

PIECE_BYTES = 512 << 10  # what it decodes to still fits into a cache of 2 MB
MAX_ELEMENT_BYTES = 256 << 20

_BOM = b"\xef\xbb\xbf"
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_BETWEEN_OBJECTS = re.compile(rb"\}\s*,\s*(?=\{)")
_LIST_OF_OBJECTS_ENDS = re.compile(rb"\}\s*\]")
_BROKEN_AT = re.compile(r"malformed.*\(byte (\d+)\)")
_COLON = re.compile(rb"\s*:")


def top_level_keys(head: bytes) -> tuple[str, ...]:
    """The keys of the outermost object that the first bytes of a document show."""
    keys: list[str] = []
    depth = 0
    for start, end in runs(head):
        depth += (head[start] in b"{[") - (head[start] in b"]}")
        if depth == 1:
            keys.extend(_keys(head, start, end))
    return tuple(keys)


def _keys(data: bytes, start: int, end: int) -> Iterator[str]:
    while (start := data.find(b'"', start, end)) >= 0:
        behind = string_end(data, start)
        if _COLON.match(data, behind):
            yield data[start + 1 : behind - 1].decode("utf-8", "replace")
        start = behind


def decode(source: Source, type_: type[T]) -> tuple[T, str | None]:
    """The whole document, and what was wrong with it if it had to be repaired."""
    content = source.read()
    data = content.data.removeprefix(_BOM)
    try:
        return msgspec.json.decode(data, type=type_), content.damage
    except msgspec.ValidationError as error:
        raise InputError(f"{source.name} does not have the layout of its format", str(error)) from error
    except UnicodeDecodeError:
        data, reason = _as_utf8(data), content.damage or "bytes that are not UTF-8 were replaced"
    except _UNREADABLE as error:
        broken = _BROKEN_AT.search(str(error))
        data = data[: int(broken.group(1))] if broken else data
        reason = content.damage or f"the document is incomplete ({error})"
    mended = mend(data)
    try:
        return msgspec.json.decode(mended, type=type_), reason
    except _UNREADABLE as error:
        raise InputError(f"{source.name} is not readable JSON", reason) from error


def nothing_read(name: str, damage: str | None, why: str, next_step: str = "") -> RocmPerfError:
    """The error of a file without a usable event: it is damaged, or `why` nothing was recorded."""
    if damage is None:
        return EmptyCaptureError(f"{name} holds no event", why, next_step)
    step = "Copy it again, or record again and let the program end by itself."
    return InputError(f"{name} cannot be read as a trace", damage, step)


class EventArray(Generic[T]):
    """The objects of one big array inside a document, decoded piece by piece.

    `prefix` and `suffix` hold what comes before and after the array; `damage` says why not every
    element could be read.
    """

    def __init__(self, source: Source, key: str | None, decode_piece: Callable[[bytes], T]) -> None:
        self.prefix = b""
        self.suffix = b""
        self.damage: str | None = None
        self._source = source
        self._key = key
        self._decode = decode_piece
        self._unusable = 0

    def __iter__(self) -> Iterator[T]:
        self.suffix, self.damage, self._unusable = b"", None, 0
        with self._source.reader() as reader:
            rest = self._skip_to_array(reader)
            if rest is None:
                self.damage = reader.damage or f"it has no list {self._key or 'of events'}"
                return
            yield from self._pieces(rest, reader)
            self.damage = reader.damage or self.damage
        if self._unusable and not self.damage:
            self.damage = f"{format_count(self._unusable, 'element')} of the event list not usable"

    def _pieces(self, buffer: bytes, reader: Reader) -> Iterator[T]:
        outline = Outline()
        ended = False
        while not ended:
            buffer, ended = _fill(buffer, reader)
            piece, behind = self._guess(buffer, ended)
            if piece is not None:
                yield piece
                buffer, outline = buffer[behind:], Outline()
                if ended:
                    self.suffix = buffer
                    return
                continue
            outline.extend(buffer)
            if outline.end is not None:
                yield from self._decoded(buffer[: outline.end])
                self.suffix = b"".join([buffer[outline.end + 1 :], *reader])
                return
            comma = outline.last_comma(buffer)
            if comma >= 0 and not ended:
                yield from self._decoded(buffer[:comma])
                buffer, outline = buffer[comma + 1 :], Outline()
            if len(buffer) > MAX_ELEMENT_BYTES:
                self.damage = f"an element of the event list is larger than {format_bytes(MAX_ELEMENT_BYTES)}"
                return
        self.damage = "the event list breaks off before its end"
        yield from self._decoded(buffer[: outline.whole(buffer)])

    def _skip_to_array(self, reader: Reader) -> bytes | None:
        """What was read after the opening bracket; None if the document has no such array."""
        buffer = b""
        outside = _Outside(self._key)
        for chunk in _growing(reader):
            buffer = (buffer + chunk).removeprefix(_BOM)
            start = outside.find(buffer)
            if start is not None:
                self.prefix = buffer[:start]
                return buffer[start + 1 :]
            if outside.hopeless:
                break
        self.prefix = buffer
        return None

    def _guess(self, buffer: bytes, ended: bool) -> tuple[T | None, int]:
        """Decode up to a likely end of an element: (piece, where the rest starts). A wrong guess does not decode,
        because it leaves a bracket or a string open."""
        view = memoryview(buffer)
        for end in _closes_from_end(buffer) if ended else _cuts_from_end(buffer):
            piece = self._try(b"".join((b"[", view[: end.start() + 1], b"]")))
            if piece is not None:
                return piece, end.end()
        return None, 0

    def _decoded(self, data: bytes) -> Iterator[T]:
        """The elements of `data`, without those that cannot be read; nothing where there is none."""
        if not data.strip():
            return
        piece = self._try(b"[" + data + b"]")
        if piece is not None:
            yield piece
        else:
            yield from self._salvaged(elements(data))

    def _salvaged(self, parts: list[bytes]) -> Iterator[T]:
        if len(parts) > 1:
            middle = len(parts) // 2
            for half in (parts[:middle], parts[middle:]):
                piece = self._try(b"[" + b",".join(half) + b"]")
                if piece is not None:
                    yield piece
                else:
                    yield from self._salvaged(half)
        else:
            self._unusable += 1

    def _try(self, data: bytes) -> T | None:
        try:
            return self._decode(data)
        except UnicodeDecodeError:
            readable = _as_utf8(data)
            return None if readable == data else self._try(readable)
        except _UNREADABLE:
            return None


class _Outside:
    """Looks for an array in the outermost object (or for the outermost array) of a growing buffer."""

    def __init__(self, key: str | None) -> None:
        self.hopeless = False
        self._key = key
        self._marker = re.compile(rb'"%s"\s*:\s*\[' % re.escape((key or "").encode()))
        self._position = self._depth = 0

    def find(self, buffer: bytes) -> int | None:
        """The position of its opening bracket; None if the buffer does not show it yet."""
        if self._key is None:
            start = len(buffer) - len(buffer.lstrip())
            self.hopeless = start < len(buffer) and buffer[start : start + 1] != b"["
            return start if buffer[start : start + 1] == b"[" else None
        if not self._marker.search(buffer, self._position):
            return None
        for start, end in runs(buffer, self._position):
            self._depth += (buffer[start] in b"{[") - (buffer[start] in b"]}")
            place = self._named(buffer, start, end) if self._depth == 1 else None
            if place is not None:
                return place
            if end < len(buffer):
                self._position = end
            else:
                self._depth -= (buffer[start] in b"{[") - (buffer[start] in b"]}")
        return None

    def _named(self, buffer: bytes, start: int, end: int) -> int | None:
        """The position of the bracket after a run that ends with the key."""
        while (start := buffer.find(b'"', start, end)) >= 0:
            match = self._marker.match(buffer, start)
            if match:
                return match.end() - 1
            start = string_end(buffer, start)
        return None


def _as_utf8(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _growing(reader: Reader) -> Iterator[bytes]:
    """Chunks, each as large as all before it, which keeps joining them linear."""
    total = 0
    parts: list[bytes] = []
    for chunk in reader:
        parts.append(chunk)
        size = sum(map(len, parts))
        if size >= total:
            total += size
            yield b"".join(parts)
            parts = []
    if parts:
        yield b"".join(parts)


def _fill(buffer: bytes, chunks: Reader) -> tuple[bytes, bool]:
    """The buffer, twice as long if it was too short for an element; and whether the source has ended."""
    parts = [buffer]
    size = len(buffer)
    goal = max(PIECE_BYTES, 2 * size)
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= goal:
            return b"".join(parts), False
    return b"".join(parts), True


def _closes_from_end(buffer: bytes, tries: int = 16) -> list[re.Match[bytes]]:
    """Places where the list may end, last first."""
    closes = list(_LIST_OF_OBJECTS_ENDS.finditer(buffer, max(0, len(buffer) - (1 << 16))))
    return closes[::-1][:tries]


def _cuts_from_end(buffer: bytes, tries: int = 8) -> list[re.Match[bytes]]:
    """Places between two objects, last first."""
    window = 1 << 12
    cuts: list[re.Match[bytes]] = []
    while not cuts and window <= 16 * len(buffer):
        cuts = list(_BETWEEN_OBJECTS.finditer(buffer, max(0, len(buffer) - window)))
        window *= 16
    return cuts[::-1][:tries]
