"""Other values for a buffer: the same ones in another order, or new ones from the range of the old; of integers,
some of the old ones more often than others. Pure."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rocm_perf.optimize.proof.parameters import Element

Array = np.ndarray[Any, np.dtype[Any]]
Change = Literal["permuted", "drawn"]

_TYPES: dict[Element, str] = {
    "f16": "<f2", "bf16": "<u2", "f32": "<f4", "f64": "<f8", "i8": "<u1", "i16": "<u2", "i32": "<u4", "i64": "<u8",
}  # fmt: skip
_LOOKED_AT = 1 << 20  # integers


def changed(data: Array, element: Element, change: Change, source: np.random.Generator) -> Array:
    """New bytes for those of a buffer. What does not fill an element at its end stays."""
    values = data[: data.size // width(element) * width(element)].view(_TYPES[element])
    if change == "permuted" or (element.startswith("i") and are_distinct(values)):
        new = source.permutation(values)
    elif element.startswith("i"):
        new = drawn_integers(values, source)
    elif element == "bf16":
        new = as_bf16(drawn(from_bf16(values), source))
    else:
        new = drawn(values, source)
    return np.concatenate((new.view(np.uint8), data[new.nbytes :]))


def are_distinct(values: Array) -> bool:
    """Whether no value comes twice, among the first ones. Places to write to must stay so: else the last writer wins,
    and nobody knows which one that is."""
    some = values[:_LOOKED_AT]
    return bool(np.unique(some).size == some.size)


def width(element: Element) -> int:
    """Bytes of an element."""
    return np.dtype(_TYPES[element]).itemsize


def drawn(values: Array, source: np.random.Generator) -> Array:
    """Values between two that are picked by chance: they stay in the range of the old ones and near where most of them
    are, so that sums and exponentials stay what they are. Constant ones are replaced, NaN and infinity stay."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return values
    first, second = (source.choice(finite, values.size) for _ in range(2))
    if finite.min() == finite.max():
        new = _spread(float(finite[0]), values.size, source)
    else:
        new = first + source.random(values.size) * (second.astype(np.float64) - first)
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(values), new, values).astype(values.dtype)


def drawn_integers(values: Array, source: np.random.Generator) -> Array:
    """Some of the values more often than others, so that indices stay valid; in place of a constant that, or one
    more."""
    if values.size and values.min() == values.max():
        return values + source.integers(0, 2, values.size, dtype=values.dtype)
    return source.choice(values, values.size)


def _spread(constant: float, count: int, source: np.random.Generator) -> Array:
    """Random values in place of a constant: of about its size; below 1 in place of zeros."""
    return constant * (0.5 + source.random(count)) if constant else source.random(count)


def from_bf16(bits: Array) -> Array:
    """The f32 values of bf16 ones, which are their upper halves."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def as_bf16(values: Array) -> Array:
    """The bits of f32 values as bf16, towards zero."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype("<u2")


def floats(data: Array, element: Element) -> Array:
    """The bytes of a buffer as numbers."""
    values = data[: data.size // width(element) * width(element)].view(_TYPES[element])
    return from_bf16(values) if element == "bf16" else values
