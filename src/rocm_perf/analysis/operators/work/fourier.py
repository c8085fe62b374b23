"""Fourier transforms: 5 n log2 n of n complex points, and half of it of n real ones, whatever algorithm is chosen: the
convention of FFTW's benchmarks (fftw.org/speed). n is the product of the lengths of all axes that are transformed."""

from __future__ import annotations

from math import log2, prod

from rocm_perf.analysis.operators.work.call import Call, Counted, NoFormulaError, Shape, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_COMPLEX, _REAL = 5.0, 2.5


def _complex(call: Call) -> Counted:
    data = call.tensor("self")
    return _transform(call, data.shape, _COMPLEX, element_bytes(data) * data.elements)


def _from_real(call: Call) -> Counted:
    """Of a real signal half of the result says everything: the rest is its mirror image."""
    data = call.tensor("self")
    last = _axes(call)[-1]
    kept = data.shape[last] // 2 + 1 if call.is_true("onesided") else data.shape[last]
    results = data.elements // data.shape[last] * kept
    return _transform(call, data.shape, _REAL, 2 * element_bytes(data) * results)


def _to_real(call: Call) -> Counted:
    data = call.tensor("self")
    shape = list(data.shape)
    shape[_axes(call)[-1]] = call.integer("last_dim_size")
    return _transform(call, tuple(shape), _REAL, element_bytes(data) // 2 * prod(shape))


def _transform(call: Call, shape: Shape, each: float, output_bytes: int) -> Counted:
    points = prod(shape[axis] for axis in _axes(call))
    signals = prod(shape) // points
    flops = round(signals * each * points * log2(points))
    return Counted(flops, f"{signals} * {each:g} * {points} * log2({points})", output_bytes)


def _axes(call: Call) -> list[int]:
    axes = call.integers("dim")
    if not axes:
        raise NoFormulaError("dim is not recorded")
    return axes


FORMULAS: tuple[Formula, ...] = (
    *formulas(_complex, "aten::_fft_c2c(self, dim, normalization, forward)"),
    *formulas(_from_real, "aten::_fft_r2c(self, dim, normalization, onesided)"),
    *formulas(_to_real, "aten::_fft_c2r(self, dim, normalization, last_dim_size)"),
)
