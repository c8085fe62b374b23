"""rocBLAS or cuBLAS, through torch."""

from __future__ import annotations

from typing import Any

import torch

NAME = f"{'rocBLAS' if torch.version.hip else 'cuBLAS'} (torch)"
DTYPES = ("f64", "f32", "xf32", "f16", "bf16")


def prepare() -> None:
    """Make torch use this library from now on."""
    torch.backends.cuda.preferred_blas_library("cublas")


def multiply(a: Any, b: Any) -> Any:
    """The product of the two."""
    return torch.mm(a, b)
