"""A small transformer block in training, for profiling from outside. Prints what CUDA events say of it as JSON; with
--truth it also counts its kernels with torch.profiler. Usage: model.py [--truth]"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

STEPS = 20


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self, width: int = 2048, heads: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    torch.cuda.nvtx.range_push("step")
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.nvtx.range_pop()


def steps(run: Any) -> float:
    """Milliseconds of all steps, by CUDA events."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(STEPS):
        run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


def counted(run: Any) -> dict[str, float]:
    """Kernels of the steps as torch.profiler counts them."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        steps(run)
        torch.cuda.synchronize()
    times = [
        event.device_time_total
        for event in prof.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
        and not event.is_user_annotation
        and not event.name.startswith(("Memcpy", "Memset"))
    ]
    return {"kernels": len(times), "kernels_ms": sum(times) / 1000}


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block()).cuda().to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    x = torch.randn(16, 1024, 2048, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        step(model, optimizer, x)
    torch.cuda.synchronize()
    run = lambda: step(model, optimizer, x)  # noqa: E731
    torch.cuda.nvtx.range_push("measured")
    answer: dict[str, Any] = {"steps": STEPS, "events_ms": steps(run)}
    torch.cuda.nvtx.range_pop()
    if "--truth" in sys.argv:
        answer |= counted(run)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
