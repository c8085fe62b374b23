"""A small transformer at inference, which the host cannot feed fast enough when it is run eagerly."""

from __future__ import annotations

from functools import cache

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


def tokens() -> tuple[torch.Tensor]:
    """The arguments of the two functions below, for `rocm-perf ab`."""
    return (torch.randn(1, _LENGTH, _WIDTH, device="cuda", dtype=torch.bfloat16),)


@torch.no_grad()
def encoded(tokens: torch.Tensor) -> torch.Tensor:
    return _model(tokens)


@cache
def _captured() -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
    graph, place = torch.cuda.CUDAGraph(), torch.zeros_like(_tokens)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # a first call outside, as capture asks for
        _model(place)
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        result = _model(place)
    return graph, place, result


@torch.no_grad()
def replayed(tokens: torch.Tensor) -> torch.Tensor:
    """The same as one graph: the argument is copied to where the graph reads, the result from where it writes."""
    graph, place, result = _captured()
    place.copy_(tokens)
    graph.replay()
    return result.clone()
