"""Programs whose GPU waits for their host."""

from __future__ import annotations

from typing import Any

from tests.gpu.pairs.device import captured
from tests.gpu.pairs.programs.tensors import normal, weights
from tests.gpu.verdicts.case import Step


def loader() -> Step:
    """Training on samples that the host prepares one by one, in the thread that launches."""
    import numpy
    import torch

    samples = numpy.random.default_rng(0).random((256, 3, 96, 96), dtype=numpy.float32)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 5, 2), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3, 2), torch.nn.ReLU()
    ).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def prepared(number: int) -> Any:
        sample = samples[number % len(samples)]
        flipped = numpy.ascontiguousarray(sample[:, :, ::-1])
        return torch.from_numpy((flipped - flipped.mean((1, 2), keepdims=True)) / flipped.std())

    def step(number: int) -> None:
        batch = torch.stack([prepared(32 * number + sample) for sample in range(32)])
        optimizer.zero_grad()
        model(batch.cuda()).square().mean().backward()
        optimizer.step()

    return step


def experts() -> Step:
    """A mixture of experts that asks the GPU which rows each of its eight experts gets."""
    import torch

    rows, router = normal(512, 1024), weights(1024, 8)
    expert_weights = [(weights(1024, 2048), weights(2048, 1024)) for _ in range(8)]
    output = torch.zeros_like(rows)

    def step(_: int) -> None:
        chosen = (rows @ router).argmax(dim=-1)
        for number, (up, down) in enumerate(expert_weights):
            mine = (chosen == number).nonzero().squeeze(1)
            output[mine] = torch.relu(rows[mine] @ up) @ down

    return step


def graph_and_numpy() -> Step:
    """One CUDA graph a step, whose result the host sorts before the next one."""
    import numpy
    import torch

    layers, source = [weights(1024) for _ in range(12)], normal(256, 1024)
    output = torch.empty(256, 1024, device="cuda")

    def forward() -> None:
        values = source
        for layer in layers:
            values = torch.relu(values @ layer)
        output.copy_(values)

    replay = captured(forward)
    kept = torch.empty(256, 1024, pin_memory=True)

    def step(_: int) -> None:
        replay()
        kept.copy_(output, non_blocking=True)
        torch.cuda.synchronize()
        numpy.sort(kept.numpy(), axis=1)

    return step


def sampling() -> Step:
    """A decoder of four layers, whose next words are drawn from the fifty likeliest and told to the host."""
    import torch

    width, words = 768, 8192
    layers = [(weights(width, 4 * width), weights(4 * width, width)) for _ in range(4)]
    embedding, head = normal(words, width), weights(width, words)
    state = torch.zeros(8, dtype=torch.int64, device="cuda")
    told: list[list[int]] = []

    def step(_: int) -> None:
        values = embedding[state]
        for up, down in layers:
            normed = torch.nn.functional.layer_norm(values, (width,))
            values = values + torch.nn.functional.gelu(normed @ up) @ down
        likely, at = torch.topk((values @ head).float() / 0.8, 50)
        drawn = torch.multinomial(torch.softmax(likely, dim=-1), 1)
        state.copy_(at.gather(1, drawn).squeeze(1))
        told.append(state.tolist())

    return step


def four_streams() -> Step:
    """Four independent chains of small operators on a stream each, launched by one thread."""
    import torch

    chains = [(torch.cuda.Stream(), normal(64, 256), weights(256)) for _ in range(4)]

    def step(_: int) -> None:
        for stream, source, factor in chains:
            with torch.cuda.stream(stream):
                values = source
                for _ in range(8):
                    values = torch.tanh(values @ factor) + source

    return step


def recurrent() -> Step:
    """24 steps of an LSTM cell, forward and backward."""
    import torch

    cell, inputs = torch.nn.LSTMCell(128, 128).cuda(), torch.randn(24, 16, 128, device="cuda")

    def step(_: int) -> None:
        state = None
        for one in inputs:
            state = cell(one, state)
        assert state is not None
        cell.zero_grad()
        state[0].sum().backward()

    return step


def sorted_on_the_host() -> Step:
    """A product, its first rows sorted by the host, and a product of what came back."""
    import torch

    left, right = normal(2048, 2048), weights(2048)

    def step(_: int) -> None:
        values = left @ right
        ordered = torch.sort(values[:256].float().cpu(), dim=1).values
        torch.mm(ordered.cuda().bfloat16(), right)

    return step


def emptied_cache() -> Step:
    """A layer whose memory is given back to the driver after each step."""
    import torch

    source, up, down = normal(8192, 2048), weights(2048, 8192), weights(8192, 2048)

    def step(_: int) -> None:
        torch.relu(source @ up) @ down
        torch.cuda.empty_cache()

    return step


def small_images() -> Step:
    """A convolutional network of twenty blocks on one small image."""
    import torch

    blocks = [
        torch.nn.Sequential(
            torch.nn.Conv2d(64, 64, 3, padding=1, bias=False), torch.nn.BatchNorm2d(64), torch.nn.ReLU()
        )
        for _ in range(20)
    ]
    model = torch.nn.Sequential(*blocks).cuda().eval()
    image = torch.randn(1, 64, 56, 56, device="cuda")

    def step(_: int) -> None:
        with torch.no_grad():
            model(image)

    return step


def ragged() -> Step:
    """Attention over 48 sequences of different lengths, one after the other."""
    import torch

    lengths = [16 + 7 * number % 100 for number in range(48)]
    sequences = [tuple(normal(1, 8, length, 64) for _ in range(3)) for length in lengths]

    def step(_: int) -> None:
        for queries, keys, values in sequences:
            torch.nn.functional.scaled_dot_product_attention(queries, keys, values)

    return step


def two_threads() -> Step:
    """Two threads that each launch a chain of small operators, on a stream of their own."""
    from concurrent.futures import ThreadPoolExecutor

    import torch

    pool = ThreadPoolExecutor(2)
    chains = [(torch.cuda.Stream(), normal(32, 256), weights(256)) for _ in range(2)]

    def run(chain: Any) -> None:
        stream, values, factor = chain
        with torch.cuda.stream(stream):
            for _ in range(24):
                values = torch.sigmoid(values @ factor)

    def step(_: int) -> None:
        list(pool.map(run, chains))

    return step


def element_by_element() -> Step:
    """A recurrence that Python computes one element of a tensor at a time."""
    import torch

    values = torch.rand(64, device="cuda")

    def step(_: int) -> None:
        for at in range(1, len(values)):
            values[at] = 0.5 * values[at - 1] + values[at]

    return step


def many_parameters() -> Step:
    """An Adam step on 120 small tensors, one after the other."""
    import torch

    parameters = [torch.nn.Parameter(torch.randn(64, 64, device="cuda")) for _ in range(120)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.Adam(parameters, foreach=False)

    def step(_: int) -> None:
        optimizer.step()

    return step


def until_it_converges() -> Step:
    """An iteration on small vectors that asks the GPU after every round whether it has converged."""
    import torch

    matrix, target = torch.rand(256, 256, device="cuda") / 512, torch.rand(256, device="cuda")

    def step(_: int) -> None:
        values = torch.zeros_like(target)
        for _ in range(20):
            after = matrix @ values + target
            if (after - values).abs().max().item() < 0:
                break
            values = after

    return step
