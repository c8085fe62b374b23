"""Recordings of our own tracer: blocks of documents, texts and numbers, each with its length and checksum, so that a
file that was cut short reads up to its last whole block. docs/formats.md describes the layout."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import polars as pl

from rocm_perf.ingest.io.source import Reader, Source

MAGIC = b"RPTRACE1"
_FRAME = struct.Struct("<II")  # length and checksum of what follows
_TEXTS = struct.Struct("<cII")  # kind, number of the first, count
_TABLE = struct.Struct("<ccHI")  # kind, letter, columns, rows
_COLUMN = struct.Struct("<qB")  # what was subtracted from every value, and the bytes that each takes
_WIDTHS: dict[int, type[pl.DataType]] = {1: pl.UInt8, 2: pl.UInt16, 4: pl.UInt32, 8: pl.UInt64}
_MOST_BYTES = 256 << 20  # of a block
_MOST_ROWS = 1 << 20  # of a block
_MOST_EQUAL_ROWS = 1 << 10  # that may take no bytes at all


class _DamagedBlockError(Exception):
    """A block whose checksum is right, and whose content is not."""


class Blocks(msgspec.Struct):
    """What the blocks of a file hold."""

    documents: list[bytes] = msgspec.field(default_factory=list)
    texts: list[str] = msgspec.field(default_factory=list)
    tables: dict[str, pl.DataFrame] = msgspec.field(default_factory=dict)  # by letter
    damage: str | None = None

    def named(self, numbers: str) -> pl.Expr:
        """The texts that the numbers of a column stand for; null for a number without a text."""
        texts = pl.Series("texts", self.texts, pl.String)
        number = pl.when(pl.col(numbers).is_between(0, len(texts) - 1)).then(pl.col(numbers))
        return pl.lit(texts).gather(number.cast(pl.UInt32))


def read_blocks(source: Source, columns: Mapping[str, Sequence[str]]) -> Blocks:
    """Every whole block; of tables those with a letter in `columns`, which names their columns."""
    blocks = Blocks()
    pieces: dict[str, list[pl.DataFrame]] = {}
    with source.reader() as reader:
        stream = _Stream(reader)
        stream.take(len(MAGIC))
        try:
            for content in stream.blocks():
                _add(content, blocks, columns, pieces)
        except (_DamagedBlockError, struct.error) as error:
            blocks.damage = f"is damaged at byte {stream.position:,} ({error}): the rest is missing"
        blocks.damage = blocks.damage or stream.damage
    blocks.tables = {letter: pl.concat(frames, rechunk=True) for letter, frames in pieces.items()}
    return blocks


class _Stream:
    """The bytes of a file, block by block."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._chunk, self._used = b"", 0
        self.position = 0
        self.damage: str | None = None

    def take(self, size: int) -> bytes:
        """The next bytes; fewer only at the end."""
        while len(self._chunk) - self._used < size and (chunk := next(self._reader, b"")):
            self._chunk, self._used = self._chunk[self._used :] + chunk, 0
        data = self._chunk[self._used : self._used + size]
        self._used += len(data)
        self.position += len(data)
        return data

    def blocks(self) -> Iterator[bytes]:
        while frame := self.take(_FRAME.size):
            content = self._content(frame)
            if content is None:
                return
            yield content

    def _content(self, frame: bytes) -> bytes | None:
        """What the frame announces; None, and the reason in `damage`, if it is not there."""
        at = self.position - len(frame)
        size, checksum = _FRAME.unpack(frame) if len(frame) == _FRAME.size else (_MOST_BYTES, 0)
        content = self.take(size) if size < _MOST_BYTES else b""
        if len(content) < size or not content:
            self.damage = (
                self._reader.damage or f"breaks off at byte {at:,}: the program was killed, or the disk full"
            )
            return None
        if zlib.crc32(content) != checksum:
            self.damage = f"is damaged at byte {at:,} (a wrong checksum): the rest is missing"
            return None
        return content


def _add(
    content: bytes,
    blocks: Blocks,
    columns: Mapping[str, Sequence[str]],
    pieces: dict[str, list[pl.DataFrame]],
) -> None:
    if content[:1] == b"{":
        blocks.documents.append(content)
    elif content[:1] == b"S":
        _add_texts(content, blocks.texts)
    elif content[:1] == b"T":
        letter = content[1:2].decode("latin-1")
        if letter in columns:
            pieces.setdefault(letter, []).append(_table(content, columns[letter]))


def _add_texts(content: bytes, texts: list[str]) -> None:
    _, first, count = _TEXTS.unpack_from(content)
    if first != len(texts) or count * 4 > len(content):
        raise _DamagedBlockError("texts that do not follow the ones before")
    start = _TEXTS.size + 4 * count
    for size in struct.unpack_from(f"<{count}I", content, _TEXTS.size):
        texts.append(content[start : start + size].decode("utf-8", "replace"))
        start += size


def _table(content: bytes, names: Sequence[str]) -> pl.DataFrame:
    _, _, width, rows = _TABLE.unpack_from(content)
    if width < len(names):
        raise _DamagedBlockError("a table with too few columns")
    start = _TABLE.size + width * _COLUMN.size
    if rows > _MOST_ROWS or rows > max(_MOST_EQUAL_ROWS, len(content) - start):
        raise _DamagedBlockError("a table with more rows than numbers")
    series = []
    for number in range(width):
        least, size = _COLUMN.unpack_from(content, _TABLE.size + number * _COLUMN.size)
        values = content[start : start + size * rows]
        start += size * rows
        if number < len(names):
            series.append(_column(names[number], values, least, size, rows))
    return pl.DataFrame(series)


def _column(name: str, values: bytes, least: int, size: int, rows: int) -> pl.Series:
    if size == 0:
        return pl.repeat(least, rows, dtype=pl.Int64, eager=True).alias(name)
    if size not in _WIDTHS or len(values) != size * rows:
        raise _DamagedBlockError("a column of the wrong size")
    array = pl.Series([values]).bin.reinterpret(dtype=pl.Array(_WIDTHS[size], rows), endianness="little")
    numbers = array.explode().rename(name)
    if size == 8:  # the sum is meant modulo 2^64
        numbers = numbers.reinterpret(signed=True)
    shifted: pl.Series = numbers.cast(pl.Int64) + least
    return shifted
