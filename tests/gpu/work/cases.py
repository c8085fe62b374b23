"""Calls whose FLOPs and bytes follow from arithmetic: eager, compiled, and captured into a CUDA graph.

`python cases.py trace FOLDER` records them with torch.profiler, `python cases.py plain` runs them between
cudaProfilerStart and Stop for ncu. `CASES` says what each one computes and moves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no processes beside ncu's

import torch
from torch.nn import functional

ROWS, COLUMNS = 1 << 18, 4096
N = ROWS * COLUMNS  # 2^30 elements, 2 GiB in half precision: forty times the L2 cache of an H200
M, K = 4096, 2048
BATCH, HEADS, KV_HEADS, LENGTH, DEPTH = 2, 16, 4, 4096, 128
PAIRS = LENGTH * (LENGTH + 1) // 2
INNER = 64
VOCABULARY, TOKENS = 50_000, 1 << 18
PARAMETERS = 1 << 26

HALF, FULL = torch.bfloat16, torch.float32


@dataclass(frozen=True)
class Case:
    """One call; `streams`: its kernels move far more than the caches hold, so that ncu must count as many bytes."""

    label: str
    run: Callable[[], Any]
    flops: int
    bytes: int | None
    streams: bool = False
    operators: str = ""  # what those that count have in their names; others prepare and finish


def empty(*shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    """A tensor on the GPU with small values."""
    return torch.full(shape, 0.01, dtype=dtype, device="cuda")


def streaming() -> list[Case]:
    """Two bytes an element, each tensor once."""
    a, b = empty(ROWS, COLUMNS), empty(ROWS, COLUMNS)
    wide = empty(ROWS, COLUMNS, dtype=FULL)
    weight, bias = empty(COLUMNS), empty(COLUMNS)
    table, indices = empty(VOCABULARY, COLUMNS), torch.randint(VOCABULARY, (TOKENS,), device="cuda")
    columns, quarter = 2 * COLUMNS, ROWS // 4
    return [
        Case("add", lambda: a + b, N, 3 * 2 * N, streams=True),
        Case("convert", lambda: wide.copy_(a), 0, 2 * N + 4 * N, streams=True),
        Case("transpose", lambda: a.t().contiguous(), 0, 2 * 2 * N),
        Case("cat", lambda: torch.cat((a[:quarter], b[:quarter])), 0, 2 * N, streams=True),
        Case("sum", lambda: a.sum(-1), N, 2 * N + 2 * ROWS, streams=True),
        Case("softmax", lambda: torch.softmax(a, -1), 5 * N, 2 * 2 * N, streams=True),
        Case(
            "layer norm",
            lambda: functional.layer_norm(a, (COLUMNS,), weight, bias),
            7 * N,
            2 * 2 * N + 2 * columns,
            streams=True,
        ),
        Case(
            "embedding",
            lambda: functional.embedding(indices, table),
            0,
            8 * TOKENS + 2 * 2 * TOKENS * COLUMNS,
        ),
    ]


def compiled() -> list[Case]:
    """Generated kernels. `silu(x @ w) * y` updates the product in place: it is read, y is read, and it is written."""
    a, b, c = (empty(ROWS, COLUMNS) for _ in range(3))
    x, w = empty(ROWS, INNER), empty(INNER, COLUMNS)
    weight = empty(COLUMNS)

    @torch.compile
    def add_mul(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return x * y + z

    @torch.compile
    def gate(x: torch.Tensor, w: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.silu(x @ w) * y

    @torch.compile
    def rms(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight

    product = 2 * (ROWS * INNER + INNER * COLUMNS + N)
    return [
        Case("compiled add and multiply", lambda: add_mul(a, b, c), 2 * N, 4 * 2 * N, streams=True),
        Case(
            "compiled gate",
            lambda: gate(x, w, b),
            2 * N * INNER + 2 * N,
            product + 3 * 2 * N,
            streams=True,
        ),
        # Its name says add, mean, mul, rsqrt once each, although there are three multiplications.
        Case("compiled rms norm", lambda: rms(a, weight), 4 * N, 2 * 2 * N + 2 * COLUMNS, streams=True),
    ]


def products() -> list[Case]:
    """Products, attention and convolutions: exact FLOPs."""
    a, b, bias = empty(M, K), empty(K, M), empty(M)
    left, right = empty(8, 1024, 512), empty(8, 512, 256)
    q = empty(BATCH, HEADS, LENGTH, DEPTH).requires_grad_()
    k, v = (empty(BATCH, KV_HEADS, LENGTH, DEPTH).requires_grad_() for _ in range(2))
    forward = 4 * BATCH * HEADS * PAIRS * DEPTH
    heads = 2 * BATCH * LENGTH * DEPTH * HEADS
    keys = 2 * BATCH * LENGTH * DEPTH * KV_HEADS
    image = empty(16, 64, 56, 56).requires_grad_()
    filters = empty(128, 64, 3, 3).requires_grad_()
    taps = 16 * 128 * 56 * 56 * 64 * 3 * 3
    eight = empty(M, K).to(torch.float8_e4m3fn)
    other = empty(M, K).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device="cuda")

    def attend() -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    attended = attend()
    convolved = functional.conv2d(image, filters, padding=1)
    return [
        Case("mm", lambda: a @ b, 2 * M * M * K, 2 * (2 * M * K + M * M)),
        Case("addmm", lambda: torch.addmm(bias, a, b), 2 * M * M * K, 2 * (M + 2 * M * K + M * M)),
        Case("bmm", lambda: torch.bmm(left, right), 2 * 8 * 1024 * 256 * 512, None),
        Case(
            "scaled mm",
            lambda: torch._scaled_mm(eight, other, one, one, out_dtype=HALF),
            2 * M * M * K,
            2 * M * K + 4 + 4 + 2 * M * M,
        ),
        Case("attention", attend, forward, 2 * heads + 2 * keys, operators="attention"),
        Case(
            "attention backward",
            lambda: torch.autograd.grad(attended, (q, k, v), attended, retain_graph=True),
            5 * forward // 2,
            None,
            operators="attention",
        ),
        Case(
            "convolution",
            lambda: functional.conv2d(image, filters, padding=1),
            2 * taps,
            None,
            operators="convolution",
        ),
        Case(
            "convolution backward, weight alone",
            lambda: torch.autograd.grad(convolved, filters, convolved, retain_graph=True),
            2 * taps,
            None,
            operators="convolution",
        ),
        Case(
            "convolution backward, both",
            lambda: torch.autograd.grad(convolved, (image, filters), convolved, retain_graph=True),
            2 * 2 * taps,
            None,
            operators="convolution",
        ),
    ]


def optimiser() -> list[Case]:
    """A fused AdamW step: parameter and both means read and written, the gradient and the four counts of steps read."""
    parameters = [empty(PARAMETERS, dtype=FULL).requires_grad_() for _ in range(4)]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 0.001)
    adam = torch.optim.AdamW(parameters, fused=True)
    adam.step()
    count = 4 * PARAMETERS
    return [Case("AdamW", adam.step, 14 * count, 7 * 4 * count + 4 * 4, streams=True, operators="_fused_")]


GROUPS = (streaming, compiled, products, optimiser)


def warmed(group: Callable[[], list[Case]]) -> list[Case]:
    """The cases after each ran twice: compiled, and with every plan chosen."""
    cases = group()
    for case in cases:
        for _ in range(2):
            _run(case)
    torch.cuda.synchronize()
    return cases


def _run(case: Case) -> None:
    with torch.enable_grad() if "backward" in case.label else torch.no_grad():
        case.run()


def trace(folder: Path) -> None:
    """Record every group, and a captured graph, into traces of their own."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    for group in GROUPS:
        cases = warmed(group)
        with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
            for case in cases:
                with torch.profiler.record_function(f"case: {case.label}"):
                    _run(case)
                    torch.cuda.synchronize()
        profiler.export_chrome_trace(str(folder / f"{group.__name__}.json"))
        del cases
        torch.cuda.empty_cache()
    captured(folder, activities)


def captured(folder: Path, activities: list[Any]) -> None:
    """The capture of a graph of three operators, then its replays."""
    a, b, bias = empty(M, K), empty(K, M), empty(M)

    def step() -> torch.Tensor:
        return functional.gelu(torch.addmm(bias, a, b)) + 1

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        with torch.profiler.record_function("case: captured"), torch.cuda.graph(graph):
            step()
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(folder / "captured.json"))


CAPTURED_FLOPS = 2 * M * M * K + 2 * M * M


def plain() -> None:
    """Run the streaming cases once between the calls that ncu listens to, a spinning kernel before each."""
    for group in GROUPS:
        cases = [case for case in warmed(group) if case.streams]
        torch.cuda.cudart().cudaProfilerStart()
        for case in cases:
            torch.cuda._sleep(1)
            _run(case)
            torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
        del cases
        torch.cuda.empty_cache()


if __name__ == "__main__":
    if sys.argv[1] == "trace":
        trace(Path(sys.argv[2]))
    else:
        plain()
