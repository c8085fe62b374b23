"""The arguments of one recorded torch operator: shapes, types, strides and scalars, as torch.profiler writes them."""

from __future__ import annotations

from math import prod
from typing import Any, Literal

import msgspec

from rocm_perf.model.dtypes import NUMBERS, TORCH_TYPES

Kind = Literal["tensor", "tensors", "value", "none", "unknown"]


class Argument(msgspec.Struct, frozen=True):
    """One argument. The element type of a list of tensors is not recorded, nor anything about a string or a device."""

    kind: Kind
    shapes: tuple[tuple[int, ...], ...] = ()  # one for a tensor, one each for a list of them
    strides: tuple[tuple[int, ...], ...] = ()
    dtype: str | None = None  # torch's name
    element_bytes: int | None = None
    text: str = (
        ""  # a scalar or a list of scalars, as printed; of a tensor its parameter, where that is recorded
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a tensor."""
        return self.shapes[0]

    @property
    def elements(self) -> int:
        """The number of elements of a tensor, or of all tensors of a list."""
        return sum(prod(shape) for shape in self.shapes)


class OperatorCall(msgspec.Struct, frozen=True):
    """One call of an operator, as recorded."""

    name: str
    op_id: int | None
    arguments: tuple[Argument, ...]


def arguments(
    shapes: str | None, dtypes: str | None, strides: str | None = None, inputs: str | None = None
) -> tuple[Argument, ...] | None:
    """The arguments of a call; None where neither shapes nor types were recorded."""
    sizes, types = _decoded(shapes), _decoded(dtypes)
    if not sizes and not types:
        return None
    steps, texts = _decoded(strides), _decoded(inputs)
    count = max(len(sizes), len(types), len(texts))  # some writers list the shapes of the tensors alone
    return tuple(
        _argument(_at(sizes, i), str(_at(types, i) or ""), _at(steps, i), str(_at(texts, i) or ""))
        for i in range(count)
    )


def _argument(size: Any, kind: str, step: Any, text: str) -> Argument:
    if _is_tensor(size, kind):
        dtype, width = TORCH_TYPES[kind]
        stride = (
            (tuple(step),) if _is_shape(step) and len(step) == len(size) and _is_stride(size, step) else ()
        )
        return Argument(
            kind="tensor",
            shapes=(tuple(size),),
            strides=stride,
            dtype=dtype,
            element_bytes=width,
            text=text,
        )
    if isinstance(size, list) and size and all(_is_shape(shape) for shape in size):
        fits = isinstance(step, list) and len(step) == len(size) and all(_is_shape(stride) for stride in step)
        listed = tuple(tuple(stride) for stride in step) if fits else ()
        return Argument("tensors", tuple(tuple(shape) for shape in size), listed)
    if text:
        return Argument("value", text=text)
    return Argument("none" if kind in ("", "Scalar", "ScalarList") else "unknown", text=kind)


def _is_tensor(size: Any, kind: str) -> bool:
    return kind in TORCH_TYPES and _is_shape(size) and bool(size or kind not in NUMBERS)


def _is_stride(size: list[int], step: list[int]) -> bool:
    """Return whether these can be steps through a tensor. A step of 1 along every one of three axes or more is what a
    writer puts down that does not know them; a window slid over a row has two such axes."""
    return len(step) <= 2 or set(step) != {1} or sum(extent > 1 for extent in size) <= 1


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _decoded(text: str | None) -> list[Any]:
    try:
        value = msgspec.json.decode(text or "[]")
    except (msgspec.DecodeError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else None
