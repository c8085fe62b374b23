"""Protobuf without generated code: messages from a table of the fields that are used, and the fields of one message
level by level, so that a file that breaks off is read as far as it goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10  # bytes of a 64-bit number
_FIXED = {FIXED64: 8, FIXED32: 4}
_TYPES = {"int64": 3, "uint64": 4, "double": 1, "bytes": 12}  # FieldDescriptorProto.Type
_MESSAGE = 11

# The fields of each message: name -> "[*]type number", * for repeated. A text is `bytes`: it need not be UTF-8.
Schema = Mapping[str, Mapping[str, str]]


class BrokenMessageError(Exception):
    """The bytes are not a whole message: a length beyond the end, an endless number, an unknown kind of field."""


class Field(NamedTuple):
    """One field of a message: where it begins, and where its value lies (behind its tag and its length)."""

    number: int
    kind: int
    begin: int
    start: int
    end: int


def fields(buffer: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message between two positions, in their order; raises where it is broken."""
    stop = len(buffer) if end is None else end
    position = start
    while position < stop:
        begin = position
        tag, position = varint(buffer, position, stop)
        number, kind = tag >> 3, tag & 7
        length = _FIXED.get(kind, 0)
        if kind == BYTES:
            length, position = varint(buffer, position, stop)
        elif kind == VARINT:
            length = varint(buffer, position, stop)[1] - position
        elif not length:
            raise BrokenMessageError(f"a field of the unknown kind {kind}")
        if not number or position + length > stop:
            raise BrokenMessageError("a field is longer than the message that holds it")
        yield Field(number, kind, begin, position, position + length)
        position += length


def varint(buffer: bytes, position: int, stop: int) -> tuple[int, int]:
    """The number at a position, and where it ends."""
    value = 0
    for count in range(_LONGEST_VARINT):
        if position + count >= stop:
            break
        byte = buffer[position + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value & (1 << 64) - 1, position + count + 1
    raise BrokenMessageError("a number has no end")


def message_classes(package: str, schema: Schema) -> dict[str, Any]:
    """The classes of a schema's messages, by name."""
    return _classes(package, tuple((name, tuple(table.items())) for name, table in schema.items()))


@cache
def _classes(package: str, schema: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]) -> dict[str, Any]:
    # Imported on first use: it takes a while.
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, table in schema:
        message = file.message_type.add(name=name)
        for field, text in table:
            kind, number = text.removeprefix("*").split()
            message.field.add(
                name=field,
                number=int(number),
                label=3 if text.startswith("*") else 1,
                type=_TYPES.get(kind, _MESSAGE),
                type_name=None if kind in _TYPES else f".{package}.{kind}",
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name, _ in schema
    }


def decoded(message: Any, data: bytes) -> Any:
    """A message of a class from its bytes; raises where they are not one, or nest too deep."""
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError as error:
        raise BrokenMessageError("a part of it does not decode") from error
