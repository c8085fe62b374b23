"""hipBLASLt or cuBLASLt, through torch."""

from __future__ import annotations

from typing import Any

import torch

NAME = f"{'hipBLASLt' if torch.version.hip else 'cuBLASLt'} (torch)"
DTYPES = ("f32", "xf32", "f16", "bf16")


def prepare() -> None:
    """Make torch use this library from now on."""
    torch.backends.cuda.preferred_blas_library("cublaslt")


def multiply(a: Any, b: Any) -> Any:
    """The product of the two."""
    return torch.mm(a, b)
