"""Triton: a matrix product of one's own, with tiles that are too small."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from tests.gpu.remedies.loop import Loop, run, torch_loop

SIZE = 4096


@triton.jit
def product(a, b, c, size, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):  # noqa: N803, PLR0917
    """Compute a tile of c = a @ b for square matrices whose side the tiles divide."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    left = a + rows[:, None] * size + depth[None, :]
    right = b + depth[:, None] * size + columns[None, :]
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for _ in range(0, size, DEPTH):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += DEPTH
        right += DEPTH * size
    tl.store(c + rows[:, None] * size + columns[None, :], total.to(tl.float16))


TILES = {
    "base": (32, 32, 32, 4, 2),
    "tiles": (128, 128, 64, 8, 3),
    "wide_tiles": (128, 256, 64, 8, 3),
}


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)

    def step() -> None:
        if variant == "cublas":
            torch.matmul(a, b, out=c)
            return
        rows, columns, depth, warps, stages = TILES[variant]
        grid = (SIZE // rows, SIZE // columns)
        product[grid](a, b, c, SIZE, rows, columns, depth, num_warps=warps, num_stages=stages)

    step()
    expected = a.float() @ b.float()
    assert torch.linalg.vector_norm(c.float() - expected) < 1e-2 * torch.linalg.vector_norm(expected)
    return torch_loop(step, 1)


if __name__ == "__main__":
    run(make, ("base", "tiles", "wide_tiles", "cublas"))
