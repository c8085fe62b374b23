"""The data sheet's rate for what is measured, and on which units of a chip a product is computed."""

from __future__ import annotations

from collections.abc import Container

from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.machine_ceilings import MATRIX, MEMORY_RATES, VECTOR

# What only matrix units multiply, on chips that the catalogue does not have.
_ON_MATRIX_UNITS = ("f16", "bf16", "f8", "i8", "xf32")


def data_sheet_rate(name: str, gpu: Gpu | None) -> float | None:
    """What the catalogue has for a measured rate, in TB/s, TFLOP/s or TOP/s; None where it has nothing."""
    if gpu is None:
        return None
    if name in MEMORY_RATES:
        return gpu.memory_gbps / 1000
    if name.endswith(MATRIX):
        return gpu.matrix_tflops.get(name.removesuffix(MATRIX))
    return gpu.vector_tflops.get(name.removesuffix(VECTOR))


def product_rate(dtype: str, gpu: Gpu | None) -> str:
    """The name of the rate that limits a product of matrices of this type: `f16 matrix`, `f32 vector`."""
    on_matrix_units: Container[str] = gpu.matrix_tflops if gpu else _ON_MATRIX_UNITS
    return f"{dtype}{MATRIX if dtype in on_matrix_units else VECTOR}"
