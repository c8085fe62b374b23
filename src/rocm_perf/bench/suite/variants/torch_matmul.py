"""torch.matmul, by whichever library torch prefers; for the smallest types, the operators that torch has for them."""

from __future__ import annotations

from typing import Any

import torch

NAME = "torch.matmul"
DTYPES = ("f64", "f32", "xf32", "f16", "bf16", "f8", "i8")


def prepare() -> None:
    """Let torch choose its library again."""
    if hasattr(torch.backends.cuda, "preferred_blas_library"):
        torch.backends.cuda.preferred_blas_library("default")


def multiply(a: Any, b: Any) -> Any:
    """The product of the two."""
    if a.dtype == torch.int8:
        return torch._int_mm(a, b)
    if a.element_size() == 1:
        one = torch.ones((), device=a.device)
        return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    return torch.matmul(a, b)
