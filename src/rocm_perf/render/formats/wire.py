"""Protocol-buffer messages by the hundred thousand. Messages with the same fields are rows of a matrix of bytes: what
they share is written once, and numbers are columns, padded to the width of the largest. Readers of protocol buffers
accept such padding (Perfetto's own writer pads the sizes of its messages)."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Cells: TypeAlias = NDArray[np.uint8]  # one row for each message
Part: TypeAlias = bytes | Cells
Parts: TypeAlias = tuple[Part, ...]

_VARINT, _FIXED64, _BYTES = 0, 1, 2  # wire types


def varint(number: int) -> bytes:
    """A number, seven bits in a byte, the lowest first."""
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def width_of(numbers: NDArray[Any]) -> int:
    """The bytes of the longest among some numbers; negative ones are as long as 64 bits."""
    return len(varint(int(_as_unsigned(numbers).max(initial=0))))


def varints(numbers: NDArray[Any], width: int) -> Cells:
    """One number for each message, each in so many bytes."""
    shifts = np.arange(0, 7 * width, 7, dtype=np.uint64)
    cells: Cells = (_as_unsigned(numbers)[:, None] >> shifts).astype(np.uint8) | np.uint8(0x80)
    cells[:, -1] &= 0x7F
    return cells


def _as_unsigned(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    signed = numbers.dtype.kind == "i"
    return numbers.astype(np.int64).view(np.uint64) if signed else numbers.astype(np.uint64)


def constant(field: int, value: int) -> Parts:
    """An integer field with the same value in every message."""
    return (varint(field << 3 | _VARINT) + varint(value),)


def number(field: int, values: NDArray[Any], width: int) -> Parts:
    """An integer field, one value for each message, each in so many bytes."""
    return varint(field << 3 | _VARINT), varints(values, width)


def eight_bytes(field: int, values: NDArray[Any]) -> Parts:
    """A fixed64 or double field, one value for each message."""
    little_endian = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return varint(field << 3 | _FIXED64), np.ascontiguousarray(little_endian).view(np.uint8).reshape(-1, 8)


def message(field: int, *parts: Part) -> Parts:
    """A message in a field."""
    return varint(field << 3 | _BYTES) + varint(sum(map(_width, parts))), *parts


def rows(parts: Parts, height: int) -> list[bytes]:
    """The messages, each as its bytes."""
    table = np.empty((height, sum(map(_width, parts))), np.uint8)
    place = 0
    for part in parts:
        behind = place + _width(part)
        table[:, place:behind] = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
        place = behind
    return list(table.view(f"V{table.shape[1]}").ravel().tolist())


def _width(part: Part) -> int:
    return len(part) if isinstance(part, bytes) else part.shape[1]
