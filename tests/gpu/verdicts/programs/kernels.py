"""Programs whose kernels are the limit."""

from __future__ import annotations

import math

from tests.gpu.pairs.device import captured
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


def norms_between() -> Step:
    """Norm, GELU, scale and sum over large activations, operator by operator, with one small product."""
    import torch
    from torch.nn import functional

    values, left, right = torch.randn(65536, 1024, device="cuda"), normal(1024, 1024), weights(1024)

    def step(_: int) -> None:
        normed = functional.layer_norm(values, (1024,))
        functional.gelu(normed) * 0.5 + values
        left @ right

    return step


def gathered() -> Step:
    """Rows of 64 bytes, gathered at random from a table of 4 GiB."""
    import torch

    table = torch.randn(2**26, 16, device="cuda")
    at = torch.randint(0, 2**26, (2**22,), device="cuda")

    def step(_: int) -> None:
        torch.nn.functional.embedding(at, table)

    return step


def sorted_rows() -> Step:
    """64 million numbers sorted, and a product."""
    import torch

    numbers, left, right = torch.rand(2**26, device="cuda"), normal(2048, 2048), weights(2048)

    def step(_: int) -> None:
        torch.sort(numbers)
        left @ right

    return step


def graph_of_products() -> Step:
    """Large products, replayed as one CUDA graph."""
    import torch

    left, right = normal(8192, 8192), weights(8192)
    product = torch.empty_like(left)

    def forward() -> None:
        for _ in range(4):
            torch.mm(left, right, out=product)

    replay = captured(forward)
    return lambda _: replay()


def widened() -> Step:
    """Weights that are kept as bf16 and made float32 for each product with a few rows."""
    import torch

    kept, few = weights(16384), torch.randn(8, 16384, device="cuda")

    def step(_: int) -> None:
        few @ kept.float()

    return step


def transformed() -> Step:
    """Fourier transforms of 2^26 complex numbers."""
    import torch

    signal = torch.randn(64, 2**20, device="cuda", dtype=torch.complex64)

    def step(_: int) -> None:
        torch.fft.fft(signal)

    return step


def reordered_cache() -> Step:
    """A cache of 1 GiB whose rows are put in another order before each small product, as beam search does."""
    import torch

    cache, order = normal(64, 8192, 1024), torch.randperm(64, device="cuda")
    left, right = normal(1024, 1024), weights(1024)

    def step(_: int) -> None:
        cache.index_select(0, order)
        left @ right

    return step


def large_vocabulary() -> Step:
    """The loss over a vocabulary of 131,072 words, forward and backward, in float32."""
    import torch

    logits = torch.randn(2048, 2**17, device="cuda", requires_grad=True)
    words = torch.randint(0, 2**17, (2048,), device="cuda")

    def step(_: int) -> None:
        logits.grad = None
        torch.nn.functional.cross_entropy(logits, words).backward()

    return step


def products_on_two_streams() -> Step:
    """Large products on two streams, which share what one alone would have."""
    import torch

    streams = [torch.cuda.Stream() for _ in range(2)]
    left, right = normal(8192, 8192), weights(8192)
    products = [torch.empty_like(left) for _ in streams]

    def step(_: int) -> None:
        for stream, product in zip(streams, products, strict=True):
            with torch.cuda.stream(stream):
                torch.mm(left, right, out=product)

    return step
