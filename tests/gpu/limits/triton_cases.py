"""Triton kernels with one planted limit each, and their repaired forms: `triton_cases.py time|once`."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable

import torch
import triton
import triton.language as tl

LAPS = 9
Launch = Callable[[], torch.Tensor]


@triton.jit
def add_columns(x, out, rows, columns: tl.constexpr, BLOCK: tl.constexpr, BY_ROW: tl.constexpr):
    """Sums of rows: each thread walks along a row, or the threads of a warp stand beside one another."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if BY_ROW:
        total = tl.zeros([BLOCK], tl.float32)
        for column in range(columns):
            total += tl.load(x + row * columns + column)
        tl.store(out + row, total)
    else:
        values = tl.load(x + row[:, None] * columns + tl.arange(0, columns)[None, :])
        tl.store(out + row, tl.sum(values, 1))


@triton.jit
def softmax_rows(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row + at)
    values = tl.exp(values - tl.max(values, 0))
    tl.store(out + row + at, values / tl.sum(values, 0))


@triton.jit
def product(a, b, c, N: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, STEP)
    total = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, N, STEP):
        left = tl.load(a + rows[:, None] * N + start + inner[None, :])
        right = tl.load(b + (start + inner[:, None]) * N + columns[None, :])
        total = tl.dot(left, right, total, input_precision=PRECISION)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def totals(x, out, count, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.program_id(0) * BLOCK, count, tl.num_programs(0) * BLOCK):
        total += tl.load(x + start + tl.arange(0, BLOCK))
    tl.atomic_add(out, tl.sum(total, 0))


@triton.jit
def inverted(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, ~tl.load(x + at))


def cases() -> dict[str, tuple[str, Launch, Launch]]:
    """Each case by name: its limit, the kernel, the repaired one."""
    x = torch.rand(1 << 28, device="cuda")
    a, b = (torch.rand(2048, 2048, device="cuda") - 0.5 for _ in range(2))
    c, out = torch.empty_like(a), torch.empty_like(x)
    total, sums = torch.zeros(1, device="cuda"), torch.empty(1 << 20, device="cuda")
    small = torch.randint(0, 127, (1 << 29,), dtype=torch.int8, device="cuda")
    flipped = torch.empty_like(small)

    def rows(*, by_row: bool) -> torch.Tensor:
        block = 128 if by_row else 64
        add_columns[((1 << 20) // block,)](x, sums, 1 << 20, 64, block, by_row)
        return sums

    def softmax(warps: int) -> torch.Tensor:
        softmax_rows[(1 << 13,)](x, out, 1 << 15, 1 << 15, num_warps=warps)
        return out[: 1 << 24]

    def multiplied(precision: str) -> torch.Tensor:
        product[(16, 16)](a, b, c, 2048, 128, 32, precision, num_warps=8)
        return c

    def summed(programs: int) -> torch.Tensor:
        total.zero_()
        totals[(programs,)](x, total, 1 << 28, 2048)
        return total

    def bitwise(block: int) -> torch.Tensor:
        inverted[((1 << 29) // block,)](small, flipped, block)
        return flipped[: 1 << 24]

    return {
        "triton_rows": ("uncoalesced", lambda: rows(by_row=True), lambda: rows(by_row=False)),
        "triton_softmax": ("spills", lambda: softmax(4), lambda: softmax(32)),
        "triton_product": ("matrix units unused", lambda: multiplied("ieee"), lambda: multiplied("tf32")),
        "triton_totals": ("grid too small", lambda: summed(32), lambda: summed(132 * 8)),
        "triton_inverted": ("narrow accesses", lambda: bitwise(128), lambda: bitwise(4096)),
    }


def timed_ms(launch: Launch) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def main() -> int:
    if sys.argv[1:] not in (["time"], ["once"]):
        print("usage: triton_cases.py time|once", file=sys.stderr)
        return 2
    for name, (limit, slow, mended) in cases().items():
        results = [slow().clone(), mended().clone()]
        if sys.argv[1] == "once":
            continue
        times = [(timed_ms(slow), timed_ms(mended)) for _ in range(LAPS)]
        base, repaired = (statistics.median(each) for each in zip(*times, strict=True))
        same = bool(torch.allclose(*results, rtol=2e-2, atol=2e-2))
        told = {
            "name": name,
            "limit": limit,
            "ms": base,
            "mended_ms": repaired,
            "gain": base / repaired,
            "same": same,
        }
        print(json.dumps(told), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
