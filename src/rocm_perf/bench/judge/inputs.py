"""Inputs that nobody has seen before: made anew for every call, after the judged code was loaded."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np

from rocm_perf.bench.judge.decoded import Floats, encoded
from rocm_perf.bench.judge.gates import CLOSED, Gates
from rocm_perf.bench.judge.values import ITEM_BYTES, Array, Value, same_bits

_FLOATS = (
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


class Inputs:
    """Fresh arguments for every call, one entry per case (shapes, mostly).

    What makes them may return the same ones each time, as a fixed tuple does. The judge then changes floating-point
    arrays itself: elements are shuffled, which keeps their range, and constant ones replaced by random numbers."""

    def __init__(self, make: Callable[[int], list[Value]], gates: Gates = CLOSED) -> None:
        self._make = make
        self._gates = gates
        self._random = np.random.default_rng(secrets.randbits(128))
        self.template = self._made()
        self._unused: list[list[Value]] = [[] for _ in self.template]
        self._is_fixed = [
            same_bits(one, other) for one, other in zip(self.template, self._made(), strict=True)
        ]

    @property
    def unchanging(self) -> tuple[int, ...]:
        """The cases whose inputs are the same in every round, whatever the judge does."""
        return tuple(
            case
            for case, arguments in enumerate(self.template)
            if self._is_fixed[case] and (not self._gates.random_values or not _has_floats(arguments))
        )

    def fresh(self, case: int) -> Value:
        """Arguments of a case that were not used before."""
        if not self._gates.fresh_inputs:
            return self.template[case]
        if self._is_fixed[case]:
            return self._remixed(self.template[case]) if self._gates.random_values else self.template[case]
        if not self._unused[case]:
            for unused, arguments in zip(self._unused, self._made(), strict=True):
                unused.append(arguments)
        return self._unused[case].pop()

    def _made(self) -> list[Value]:
        return self._make(secrets.randbits(31))

    def _remixed(self, value: Value) -> Value:
        if isinstance(value, Array):
            return self._remixed_array(value) if value.layout.dtype in _FLOATS else value
        if isinstance(value, (list, tuple)):
            if _is_series(value):
                return list(self._remixed_numbers(np.array(value)).tolist())
            items = [self._remixed(item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, dict):
            return {key: self._remixed(item) for key, item in value.items()}
        return value

    def _remixed_array(self, array: Array) -> Array:
        dtype, count = array.layout.dtype, array.layout.count
        elements = np.frombuffer(array.data, np.uint8).reshape(count, ITEM_BYTES[dtype])
        if (elements == elements[:1]).all():
            return Array(array.layout, encoded(self._random.standard_normal(count), dtype))
        return Array(array.layout, self._random.permutation(elements).tobytes())

    def _remixed_numbers(self, numbers: Floats) -> Floats:
        if (numbers == numbers[:1]).all():
            return self._random.standard_normal(len(numbers))
        return self._random.permutation(numbers)


def _has_floats(value: Value) -> bool:
    """Whether a value has floating-point elements that the judge may change: a lone number is left alone."""
    if isinstance(value, Array):
        return value.layout.dtype in _FLOATS and value.layout.count > 0
    if isinstance(value, dict):
        return any(map(_has_floats, value.values()))
    return isinstance(value, (list, tuple)) and (_is_series(value) or any(map(_has_floats, value)))


def _is_series(value: list[Value] | tuple[Value, ...]) -> bool:
    """Whether it is a list of floats; a tuple of arguments with two or three of them is not."""
    return isinstance(value, list) and len(value) > 1 and {float}.issuperset(map(type, value))
