"""The honest functions that cheats on a GPU are compared with, and their inputs."""

from __future__ import annotations

import os

import torch

DEVICE = os.environ.get("ROCM_PERF_CHEATS_DEVICE", "cuda")
SIZES = (1024, 1536) if DEVICE == "cuda" else (48, 64)


def inputs(seed):
    torch.manual_seed(seed)
    for size in SIZES:
        yield torch.randn(size, size, device=DEVICE), torch.randn(size, size, device=DEVICE)


def zeros():
    return torch.zeros(SIZES[0], SIZES[0], device=DEVICE), torch.zeros(SIZES[0], SIZES[0], device=DEVICE)


def large_inputs(seed):
    """Larger than the result, so that torch puts none of them where the reference freed its own."""
    torch.manual_seed(seed)
    rows, columns = (
        (1792, 2400) if DEVICE == "cuda" else (48, 64)
    )  # above 10 MiB, torch's blocks are not divided
    return torch.randn(rows, columns, device=DEVICE), torch.randn(columns, rows, device=DEVICE)


def out_inputs(seed):
    torch.manual_seed(seed)
    size = SIZES[0]
    return *(torch.randn(size, size, device=DEVICE) for _ in range(2)), torch.empty(size, size, device=DEVICE)


def honest(a, b):
    return torch.relu(a @ b)


def twice(a, b):
    torch.relu(a @ b)
    return torch.relu(a @ b)


def with_temporary(a, b):
    """The last memory that it frees holds the result."""
    result = torch.relu(a @ b)
    return result.clone()


def honest_out(a, b, out):
    torch.mm(a, b, out=out)
