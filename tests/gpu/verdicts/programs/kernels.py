"""Programs whose kernels are the limit."""

from __future__ import annotations

import math

from tests.gpu.pairs.programs.tensors import normal, weights
from tests.gpu.verdicts.case import Step


def attention_by_hand() -> Step:
    """Attention as its operators: products, scale, mask, softmax, dropout."""
    import torch

    heads, length, width = 32, 2048, 64
    queries, keys, values = (normal(heads, length, width) for _ in range(3))
    mask = torch.ones(length, length, dtype=torch.bool, device="cuda").triu(1)

    def step(_: int) -> None:
        scores = queries @ keys.transpose(1, 2) / math.sqrt(width)
        shares = torch.softmax(scores.masked_fill(mask, -1e4).float(), dim=-1)
        torch.nn.functional.dropout(shares, 0.1).bfloat16() @ values

    return step


def few_rows() -> Step:
    """A million gradients added to sixteen rows of an embedding."""
    import torch

    rows = torch.zeros(16, 256, device="cuda")
    at = torch.randint(0, 16, (2**18,), device="cuda")
    gradients = torch.randn(2**18, 256, device="cuda")
    left, right = normal(2048, 2048), weights(2048)

    def step(_: int) -> None:
        rows.index_add_(0, at, gradients)
        left @ right

    return step


def large_products() -> Step:
    """Products of large bf16 matrices, back to back."""
    import torch

    left, right = normal(8192, 8192), weights(8192)
    product = torch.empty_like(left)

    def step(_: int) -> None:
        torch.mm(left, right, out=product)

    return step


def transposed() -> Step:
    """A large matrix that is transposed in memory before each small product with it."""
    import torch

    table, few = torch.randn(16384, 16384, device="cuda"), torch.randn(16, 16384, device="cuda")

    def step(_: int) -> None:
        few @ table.t().contiguous()

    return step


def double_precision() -> Step:
    """A layer whose weights came from numpy as float64, and whose inputs followed them."""
    import numpy
    import torch

    random = numpy.random.default_rng(0)
    up, down = (torch.from_numpy(random.standard_normal((2048, 2048))).cuda() for _ in range(2))
    source = torch.from_numpy(random.standard_normal((4096, 2048))).cuda()

    def step(_: int) -> None:
        torch.relu(source @ up) @ down

    return step


def training_that_prints() -> Step:
    """A training step of large products, whose loss is read back each time while the GPU has long to go."""
    import torch

    model = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(6))).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batch = normal(8192, 4096)
    losses: list[float] = []

    def step(_: int) -> None:
        optimizer.zero_grad()
        loss = model(batch).float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    return step


def one_by_one() -> Step:
    """An Adam step by hand, operator by operator, on 2^26 parameters."""
    import torch

    parameters, gradients = (torch.randn(2**26, device="cuda") for _ in range(2))
    first, second = torch.zeros_like(parameters), torch.zeros_like(parameters)

    def step(_: int) -> None:
        first.mul_(0.9).add_(gradients, alpha=0.1)
        second.mul_(0.999).add_(gradients * gradients, alpha=0.001)
        parameters.sub_(1e-3 * (first / 0.1) / ((second / 0.001).sqrt() + 1e-8))

    return step
