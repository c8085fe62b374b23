"""Lists of numbers as bytes: handed over one by one, each costs as much as half a kilobyte of an array."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import cast

_CODES: dict[type, str] = {float: "d", int: "q"}  # of the module array: 64 bits each
ITEM_BYTES = 8


def code_of(items: Sequence[object]) -> str | None:
    """The code of items that are all floats, or all integers; None of any others."""
    kinds = set(map(type, items))
    return _CODES.get(kinds.pop()) if len(kinds) == 1 else None


def packed(items: Sequence[object]) -> tuple[str, bytes] | None:
    """The code and the bytes of items that are all floats, or all integers of 64 bits; None of any others."""
    code = code_of(items)
    if code is None:
        return None
    try:
        return code, array(code, cast("Sequence[float]", items)).tobytes()
    except OverflowError:
        return None


def unpacked(code: object, data: memoryview) -> list[float] | list[int]:
    """The items behind their bytes. Raises ValueError for a code that `packed` does not give."""
    if code not in _CODES.values():
        raise ValueError("a list of numbers has an unknown type")
    numbers: array[float] = array(str(code))
    numbers.frombytes(data)
    return numbers.tolist()
