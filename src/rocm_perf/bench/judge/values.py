"""Arguments and results as plain data: what both processes can hold without importing numpy or torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, Union

from rocm_perf.bench.judge.series import code_of, packed

Library = Literal["numpy", "torch"]

_SHOWN = 20  # characters of a plain value
# Of an array, written and read in the time that one plain value takes, and one number in a list of numbers.
_PLAIN_BYTES, _NUMBER_BYTES = 500, 100
ITEM_BYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}


@dataclass(frozen=True)
class Layout:
    """What an array is like, apart from its values."""

    library: Library
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    device: str = "cpu"

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.count * ITEM_BYTES[self.dtype]

    @property
    def on_gpu(self) -> bool:
        return self.device != "cpu"


@dataclass(frozen=True)
class Array:
    """An array of numpy or torch: its elements in row-major order, whatever its strides."""

    layout: Layout
    data: bytes | bytearray | memoryview


# Containers hold further values; dictionaries have scalars as keys.
Scalar = Union[None, bool, int, float, complex, str, bytes]  # noqa: UP007  (None has no | in Python 3.10)
Value = Union[Scalar, Array, list["Value"], tuple["Value", ...], dict[Scalar, "Value"]]  # noqa: UP007


class UnsupportedValueError(TypeError):
    """A value that cannot be handed to another process as plain data."""


def arrays(value: Value) -> Iterator[Array]:
    """Every array in a value, in order."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from arrays(item)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for item in value:
            yield from arrays(item)


def size_bytes(value: Value) -> int:
    """How many bytes the arrays of a value hold; plain values count as many as cost as much to hand over."""
    if isinstance(value, Array):
        return value.layout.size_bytes
    if isinstance(value, Mapping):
        return sum(map(size_bytes, value.values()))
    if isinstance(value, (list, tuple)):
        return _NUMBER_BYTES * len(value) if code_of(value) else sum(map(size_bytes, value))
    return _PLAIN_BYTES


def on_gpu(value: Value) -> bool:
    """Whether any array of a value is on a GPU."""
    return any(array.layout.on_gpu for array in arrays(value))


def same_bits(one: Value, other: Value) -> bool:
    """Whether two values are the same to the last bit, NaN included. Strides are not values."""
    if isinstance(one, Array) and isinstance(other, Array):
        kinds = [(array.layout.dtype, array.layout.shape) for array in (one, other)]
        return kinds[0] == kinds[1] and one.data == other.data
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_bits(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        numbers = packed(one)
        if numbers is not None:
            return numbers == packed(other)
        return len(one) == len(other) and all(map(same_bits, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex()
    return one == other


def described(value: Value) -> str:
    """What a value is like, in a few characters: float32[512, 64], list of 3."""
    if isinstance(value, Array):
        return f"{value.layout.dtype}{list(value.layout.shape)}"
    if isinstance(value, tuple):
        return ", ".join(map(described, value))
    if isinstance(value, dict):
        return ", ".join(f"{name!r}: {described(item)}" for name, item in value.items())
    if isinstance(value, list):
        return f"list of {len(value)}"
    return repr(value) if len(repr(value)) <= _SHOWN else type(value).__name__
