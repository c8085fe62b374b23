"""Kernels that become cheaper: alone, beside another stream, behind the host; and operators fused into one."""

from __future__ import annotations

import math
import time

from tests.gpu.pairs.pair import Program, Tensor
from tests.gpu.pairs.programs.tensors import normal, weights

_HOST_S = 1.5e-3  # of the host's own work in a step that hides a kernel


def product_and_softmax(after: bool) -> Program:
    """A matrix product and a softmax of it; then over half of the inner dimension."""
    import torch

    inner = 4096 if after else 8192
    left, right, scores = normal(8192, inner), weights(inner, 8192), normal(8192, 8192)

    def product() -> None:
        torch.mm(left, right, out=scores)

    def step(_: int) -> None:
        product()
        torch.softmax(scores, dim=1)

    return Program(step, kernels=product)


def sines_alone(after: bool) -> Program:
    """The sines of 2^29 numbers and a small product on a stream of their own; then of a quarter of the numbers."""
    import torch

    angles = torch.rand(2**27 if after else 2**29, device="cuda")
    sines, factor = torch.empty_like(angles), weights(4096)
    product, stream = torch.empty_like(factor), torch.cuda.Stream()

    def sine() -> None:
        torch.sin(angles, out=sines)

    def step(_: int) -> None:
        with torch.cuda.stream(stream):
            sine()
            torch.mm(factor, factor, out=product)

    return Program(step, kernels=sine)


def sines_behind_the_host(after: bool) -> Program:
    """The sines of 2^27 numbers while the host works six times as long; then of a quarter of the numbers."""
    import torch

    angles = torch.rand(2**25 if after else 2**27, device="cuda")
    sines = torch.empty_like(angles)

    def sine() -> None:
        torch.sin(angles, out=sines)

    def step(_: int) -> None:
        sine()
        _work(_HOST_S)

    return Program(step, kernels=sine)


def _work(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def counting_beside_a_stream(after: bool) -> Program:
    """Three kernels in a row that add to one address, beside two products on another stream; then to 8 addresses."""
    import torch

    ones = torch.ones(2**21, device="cuda", dtype=torch.int64)
    places = torch.arange(2**21, device="cuda") % (8 if after else 1)
    counts, factor = torch.zeros(8, device="cuda", dtype=torch.int64), weights(2048)
    product, counting, other = torch.empty_like(factor), torch.cuda.Stream(), torch.cuda.Stream()

    def count() -> None:
        counts.index_add_(0, places, ones)

    def step(_: int) -> None:
        with torch.cuda.stream(counting):
            for _ in range(3):
                count()
        with torch.cuda.stream(other):
            for _ in range(2):
                torch.mm(factor, factor, out=product)

    return Program(step, result=counts.sum, kernels=count)


def scan_between_events(after: bool) -> Program:
    """A scan of 16 long rows beside the sines of 2^27 numbers, four times over, each waiting for the other once a step;
    then of rows a quarter as long."""
    import torch

    rows, angles = torch.rand(16, 2**18 if after else 2**20, device="cuda"), torch.rand(2**27, device="cuda")
    sums, sines = torch.empty_like(rows), torch.empty_like(angles)
    one, other = torch.cuda.Stream(), torch.cuda.Stream()

    def scan() -> None:
        torch.cumsum(rows, dim=1, out=sums)

    def step(_: int) -> None:
        with torch.cuda.stream(one):
            for _ in range(4):
                torch.sin(angles, out=sines)
        with torch.cuda.stream(other):
            scan()
        one.wait_stream(other)
        other.wait_stream(one)

    return Program(step, kernels=scan)


def scan_beside_softmax(after: bool) -> Program:
    """A scan of 16 long rows beside the softmax of 16 others, which leave each other room, each waiting for the other
    once a step; then of rows a quarter as long."""
    import torch

    rows, scores = (
        torch.rand(16, 2**18 if after else 2**20, device="cuda"),
        torch.rand(16, 2**19, device="cuda"),
    )
    sums, shares = torch.empty_like(rows), torch.empty_like(scores)
    one, other = torch.cuda.Stream(), torch.cuda.Stream()

    def scan() -> None:
        torch.cumsum(rows, dim=1, out=sums)

    def step(_: int) -> None:
        with torch.cuda.stream(one):
            torch.softmax(scores, dim=1, out=shares)
        with torch.cuda.stream(other):
            scan()
        one.wait_stream(other)
        other.wait_stream(one)

    return Program(step, kernels=scan)


def gelu(after: bool) -> Program:
    """The GELU of 2^26 numbers as nine operators, and a product; then as one operator."""
    import torch

    numbers, factor = torch.randn(2**26, device="cuda"), weights(4096)
    product = torch.empty_like(factor)
    state: dict[str, Tensor] = {}

    def activate() -> None:
        state["result"] = _gelu_at_once(numbers) if after else _gelu_by_hand(numbers)

    def step(_: int) -> None:
        activate()
        torch.mm(factor, factor, out=product)

    return Program(step, result=lambda: state["result"], kernels=activate)


def _gelu_at_once(x: Tensor) -> Tensor:
    from torch.nn import functional

    return functional.gelu(x, approximate="tanh")


def _gelu_by_hand(x: Tensor) -> Tensor:
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the approximation of Hendrycks and Gimpel, 2016."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())
