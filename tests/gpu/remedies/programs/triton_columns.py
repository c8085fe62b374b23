"""Triton: a softmax over the columns of a matrix, one column for each program, whose loads lie far apart."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from tests.gpu.remedies.loop import Loop, run, torch_loop

ROWS, COLUMNS = 1024, 65_536


@triton.jit
def softmax(x, y, columns, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):  # noqa: N803
    """Compute the softmax of WIDTH neighbouring columns, each of HEIGHT rows."""
    row = tl.arange(0, HEIGHT)
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    places = row[:, None] * columns + column[None, :]
    values = tl.load(x + places)
    powers = tl.exp(values - tl.max(values, 0)[None, :])
    tl.store(y + places, powers / tl.sum(powers, 0)[None, :])


WIDTHS = {"base": (1, 4), "neighbours8": (8, 8), "neighbours32": (32, 16)}


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    x = torch.randn(ROWS, COLUMNS, device="cuda")
    y = torch.empty_like(x)

    def step() -> None:
        if variant == "torch":
            torch.softmax(x, 0, out=y)
            return
        width, warps = WIDTHS[variant]
        softmax[(COLUMNS // width,)](x, y, COLUMNS, ROWS, width, num_warps=warps)

    step()
    assert torch.allclose(y, torch.softmax(x, 0), atol=1e-6)
    return torch_loop(step, 1)


if __name__ == "__main__":
    run(make, ("base", "neighbours8", "neighbours32", "torch"))
