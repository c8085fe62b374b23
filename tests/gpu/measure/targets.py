"""A small transformer at inference, which the host cannot feed fast enough when it is run eagerly."""

from __future__ import annotations

import torch
from torch import nn

_WIDTH, _HEADS, _LAYERS, _LENGTH = 512, 8, 6, 128


def _transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(_WIDTH, _HEADS, 4 * _WIDTH, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False).cuda().to(torch.bfloat16).eval()


torch.manual_seed(0)
_model = _transformer()
_tokens = torch.randn(1, _LENGTH, _WIDTH, device="cuda", dtype=torch.bfloat16)
_compiled = torch.compile(_model)


@torch.no_grad()
def eager() -> torch.Tensor:
    return _model(_tokens)


@torch.no_grad()
def compiled() -> torch.Tensor:
    return _compiled(_tokens)
