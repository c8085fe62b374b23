"""What the programs are made of."""

from __future__ import annotations

from tests.gpu.pairs.pair import Tensor


def normal(*shape: int, scale: float = 1.0) -> Tensor:
    """Random numbers on the GPU, as bf16."""
    import torch

    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * scale


def weights(width: int, outputs: int | None = None) -> Tensor:
    """A matrix whose products are about as large as what they are made of."""
    return normal(width, outputs or width, scale=width**-0.5)
