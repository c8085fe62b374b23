"""A plain Triton kernel: blocks of rows and columns, in groups that share what they read through the L2."""

from typing import Any

import torch
import triton
import triton.language as tl

NAME = "Triton"
DTYPES = ("f16", "bf16")

# Rows, columns and warps of a block; each is tried once for a shape.
_BLOCKS = ((128, 256, 8), (128, 128, 8), (64, 128, 4), (32, 64, 4))
_STAGES = 2 if torch.version.hip else 3


@triton.autotune(
    configs=[
        triton.Config(
            {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 64, "GROUP": 8},
            num_warps=warps,
            num_stages=_STAGES,
        )
        for rows, columns, warps in _BLOCKS
    ],
    key=["m", "n", "k"],
)
@triton.jit
def _multiply(
    a, b, c, m, n, k, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    blocks_m = tl.cdiv(m, BLOCK_M)
    blocks_n = tl.cdiv(n, BLOCK_N)
    group = number // (GROUP * blocks_n)
    first = group * GROUP
    size = min(blocks_m - first, GROUP)
    block_m = first + (number % (GROUP * blocks_n)) % size
    block_n = (number % (GROUP * blocks_n)) // size
    rows = block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = block_n * BLOCK_N + tl.arange(0, BLOCK_N)
    depths = tl.arange(0, BLOCK_K)
    from_a = a + (rows % m)[:, None] * stride_a + depths[None, :]
    from_b = b + depths[:, None] * stride_b + (columns % n)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for depth in range(0, k, BLOCK_K):
        left = tl.load(from_a, mask=depths[None, :] < k - depth, other=0.0)
        right = tl.load(from_b, mask=depths[:, None] < k - depth, other=0.0)
        total = tl.dot(left, right, total)
        from_a += BLOCK_K
        from_b += BLOCK_K * stride_b
    to = c + rows[:, None] * stride_c + columns[None, :]
    tl.store(to, total.to(c.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


def multiply(a: Any, b: Any) -> Any:
    """The product of the two."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)

    def grid(sizes: dict[str, int]) -> tuple[int]:
        return (triton.cdiv(m, sizes["BLOCK_M"]) * triton.cdiv(n, sizes["BLOCK_N"]),)

    _multiply[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0))
    return c
