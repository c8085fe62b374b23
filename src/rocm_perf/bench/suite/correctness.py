"""Inputs of a product, and how far a result is from the one computed in float64. Runs in the user's Python: standard
library alone; torch is handed in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rocm_perf.bench.inside.gpu import float8

Shape = tuple[int, int, int]  # m, n, k
# What rounding the result, or the inputs, may cost. Sums are f32 or better, which is lost in it for the short types.
_ROUNDING = {
    "f64": 2.0**-52,
    "f32": 2.0**-23,
    "xf32": 2.0**-10,
    "f16": 2.0**-10,
    "bf16": 2.0**-7,
    "f8": 2.0**-7,  # its results are bf16
    "i8": 0.0,
}
_SUMMED = ("f64", "f32")  # as precise as the sum itself, whose error grows with the square root of its length
_LARGEST = 4.0  # a single value may be that much further off than all are in the mean


@dataclass(frozen=True)
class Errors:
    """How far a result is off: over all of it, and in its worst value; both relative to the size of the values."""

    mean: float  # root mean square
    largest: float
    tolerance: float

    @property
    def correct(self) -> bool:
        """Whether the result is as good as its type allows; NaN is not."""
        return self.mean <= self.tolerance and self.largest <= _LARGEST * self.tolerance


def make_inputs(torch: Any, dtype: str, shape: Shape, device: str) -> tuple[Any, Any]:
    """Random matrices of m x k and k x n, row-major; the second is column-major in f8 and i8, which libraries need."""
    m, n, k = shape
    if dtype == "i8":
        a, b = (torch.randint(-128, 128, size, dtype=torch.int8, device=device) for size in ((m, k), (n, k)))
        return a, b.t()
    if dtype == "f8":
        a, b = (torch.randn(size, device=device).to(float8(torch)) for size in ((m, k), (n, k)))
        return a, b.t()
    kind = {"f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}.get(dtype, torch.float32)
    a, b = (torch.randn(size, device=device, dtype=torch.float32).to(kind) for size in ((m, k), (k, n)))
    return a, b


def errors_of(result: Any, a: Any, b: Any, dtype: str) -> Errors:
    """The errors of a result against the product of the same inputs in float64."""
    expected = a.double() @ b.double()
    if tuple(result.shape) != tuple(expected.shape):
        raise ValueError(f"its result is {tuple(result.shape)}, not {tuple(expected.shape)}")
    difference = (result.double() - expected).abs()
    tolerance = _ROUNDING[dtype] * (math.sqrt(a.shape[1]) if dtype in _SUMMED else 1.0)
    return Errors(
        mean=_root_mean_square(difference) / _root_mean_square(expected),
        largest=float(difference.max()) / float(expected.abs().max()),
        tolerance=tolerance,
    )


def _root_mean_square(values: Any) -> float:
    return math.sqrt(float((values * values).mean()))
