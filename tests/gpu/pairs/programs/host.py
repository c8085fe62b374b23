"""Hosts that launch too much, or wait too often, or do not."""

from __future__ import annotations

from collections.abc import Callable

from tests.gpu.pairs.device import captured
from tests.gpu.pairs.pair import Program, Tensor
from tests.gpu.pairs.programs.tensors import normal, weights

_HEADS, _PAST = 16, 256  # of the decoder's attention
Layer = Callable[[Tensor], Tensor]


def small_operators(after: bool) -> Program:
    """30 layers of six small operators each; then one CUDA graph of them."""
    layers = [_perceptron(512) for _ in range(30)]
    source = normal(64, 512)
    output = source.clone()

    def forward() -> None:
        x = source
        for layer in layers:
            x = layer(x)
        output.copy_(x)

    run = captured(forward) if after else forward
    return Program(lambda _: run(), result=lambda: output)


def _perceptron(width: int) -> Layer:
    """Six operators: norm, product, activation, product, scale, sum."""
    from torch.nn import functional

    up, down = weights(width), weights(width)
    return lambda x: x + 0.5 * (functional.gelu(functional.layer_norm(x, (width,)) @ up) @ down)


def decoding(after: bool) -> Program:
    """A decoder of eight layers that reads every token back with .item(); then one CUDA graph a token, read back as
    before."""
    import torch
    from torch.nn import functional

    width, words = 1024, 4096
    layers = [_decoder_layer(width) for _ in range(8)]
    embedding, head = normal(words, width), weights(width, words)
    token = torch.zeros(1, device="cuda", dtype=torch.int64)
    tokens: list[int] = []

    def forward() -> None:
        x = embedding[token]
        for layer in layers:
            x = layer(x)
        token.copy_((functional.layer_norm(x, (width,)) @ head).argmax(dim=-1))

    run = captured(forward) if after else forward
    token.zero_()

    def step(_: int) -> None:
        run()
        tokens.append(token.item())

    return Program(step, result=lambda: torch.tensor(tokens))


def _decoder_layer(width: int) -> Layer:
    """Attention to what is already there, and a perceptron."""
    from torch.nn import functional

    size = width // _HEADS
    query, out = weights(width), weights(width)
    keys, values = normal(_HEADS, size, _PAST, scale=size**-0.5), normal(_HEADS, _PAST, size)
    perceptron = _perceptron(width)

    def layer(x: Tensor) -> Tensor:
        asked = (functional.layer_norm(x, (width,)) @ query).view(_HEADS, 1, size)
        mixed = functional.softmax(asked @ keys, dim=-1) @ values
        return perceptron(x + mixed.view(1, width) @ out)

    return layer


def training(after: bool) -> Program:
    """Training steps of a perceptron with six layers, the loss read with .item() after each; then never."""
    import torch
    from torch import nn

    width, where = 4096, {"device": "cuda", "dtype": torch.bfloat16}
    model = nn.Sequential(*(part for _ in range(6) for part in (nn.Linear(width, width, **where), nn.ReLU())))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, wanted = normal(1024, width), normal(1024, width)
    losses: list[float] = []

    def step(_: int) -> None:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        if not after:
            losses.append(loss.item())

    return Program(step, result=model[0].weight.detach)


def synchronised_products(after: bool) -> Program:
    """Two large products a step, a device-wide synchronisation after each; then none."""
    import torch

    factor = weights(8192)
    product = torch.empty_like(factor)

    def step(_: int) -> None:
        for _ in range(2):
            torch.mm(factor, factor, out=product)
            if not after:
                torch.cuda.synchronize()

    return Program(step, result=lambda: product)


def synchronised_short_products(after: bool) -> Program:
    """16 short products a step, a device-wide synchronisation after each; then none."""
    import torch

    factor = weights(2048)
    product = torch.empty_like(factor)

    def step(_: int) -> None:
        for _ in range(16):
            torch.mm(factor, factor, out=product)
            if not after:
                torch.cuda.synchronize()

    return Program(step, result=lambda: product)


def idle_stream_synchronised(after: bool) -> Program:
    """A large product a step, and a synchronisation with a stream that has nothing to do; then without it."""
    import torch

    factor = weights(8192)
    product, idle = torch.empty_like(factor), torch.cuda.Stream()

    def step(_: int) -> None:
        torch.mm(factor, factor, out=product)
        if not after:
            idle.synchronize()

    return Program(step, result=lambda: product)


def small_products(after: bool) -> Program:
    """64 small products a step, one by one, and their half; then as one batch."""
    import torch

    left, right = normal(64, 128, 128), normal(64, 128, 128, scale=128**-0.5)
    products, halves = torch.empty_like(left), torch.empty_like(left)
    each = list(zip(left.unbind(), right.unbind(), products.unbind(), strict=True))

    def one_by_one() -> None:
        for one, other, product in each:
            torch.mm(one, other, out=product)

    def at_once() -> None:
        torch.bmm(left, right, out=products)

    multiply = at_once if after else one_by_one

    def step(_: int) -> None:
        multiply()
        torch.mul(products, 0.5, out=halves)

    return Program(step, result=lambda: halves, kernels=multiply)
