"""The elements of an array as numpy numbers, also of types that numpy lacks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rocm_perf.bench.judge.values import Array

Numbers = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
_BITS = {"float8_e4m3fn": (4, 3), "float8_e5m2": (5, 2)}  # of exponent and mantissa


def decoded(array: Array) -> Numbers:
    """The elements: floats as float64, complex numbers as complex128, others as they are."""
    dtype, shape = array.layout.dtype, array.layout.shape
    if dtype in _BITS:
        return _float8_values(dtype)[np.frombuffer(array.data, np.uint8)].reshape(shape)
    if dtype == "bfloat16":  # the upper half of a float32
        wide = np.frombuffer(array.data, np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64).reshape(shape)
    numbers = np.frombuffer(array.data, dtype).reshape(shape)
    if numbers.dtype.kind in "fc":
        return numbers.astype(np.complex128 if numbers.dtype.kind == "c" else np.float64)
    return numbers


def encoded(numbers: Floats, dtype: str) -> bytes:
    """The numbers as elements of a floating-point type, rounded to one nearby."""
    if dtype in _BITS:
        values = _float8_values(dtype)
        order = [byte for byte in np.argsort(values) if np.isfinite(values[byte])]
        nearest = np.searchsorted(values[order], numbers).clip(max=len(order) - 1)
        chosen: Numbers = np.array(order, np.uint8)[nearest]
        return chosen.tobytes()
    if dtype == "bfloat16":
        upper: Numbers = numbers.astype(np.float32).view(np.uint32) >> 16
        return upper.astype(np.uint16).tobytes()
    rounded: Numbers = numbers.astype(dtype)
    return rounded.tobytes()


@cache
def _float8_values(dtype: str) -> Floats:
    """The value of each of the 256 bytes (OCP 8-bit floating point specification, revision 1.0)."""
    return np.array([_float8(byte, *_BITS[dtype]) for byte in range(256)])


def _float8(byte: int, exponent_bits: int, mantissa_bits: int) -> float:
    sign = -1.0 if byte & 0x80 else 1.0
    exponent = byte >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = byte & (1 << mantissa_bits) - 1
    is_top = exponent == (1 << exponent_bits) - 1
    if exponent_bits == 4 and is_top and mantissa == 7:  # e4m3fn has one NaN and no infinity
        return float("nan")
    if exponent_bits == 5 and is_top:
        return float("nan") if mantissa else sign * float("inf")
    bias = (1 << exponent_bits - 1) - 1
    if exponent == 0:
        return sign * float(mantissa * 2.0 ** (1 - bias - mantissa_bits))
    return sign * float((1 + mantissa * 2.0**-mantissa_bits) * 2.0 ** (exponent - bias))
