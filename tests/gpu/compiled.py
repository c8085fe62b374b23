"""A program that compiles for most of its time: torch.compile with all kernels tried, then 30 steps.

rocm-perf profile --profiler cupti -- python tests/gpu/compiled.py

It prints the median of its steps by its own clock; the recording's steady state has to be these steps.
"""

from __future__ import annotations

import json
import statistics
import time

import torch

STEPS, LAYERS, WIDTH, ROWS = 30, 6, 1024, 2048


class Layer(torch.nn.Module):
    """Norm, two products with GELU between them, and what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values + self.down(torch.nn.functional.gelu(self.up(self.norm(values))))


def main() -> None:
    """Run the steps, each waited for."""
    model = torch.nn.Sequential(*(Layer() for _ in range(LAYERS))).cuda().half()
    compiled = torch.compile(model, mode="max-autotune-no-cudagraphs")
    values = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.half)
    times_s = []
    with torch.no_grad():
        for _ in range(STEPS):
            begun = time.perf_counter()
            compiled(values)
            torch.cuda.synchronize()
            times_s.append(time.perf_counter() - begun)
    print(json.dumps({"steps": STEPS, "first_s": times_s[0], "median_s": statistics.median(times_s[1:])}))


if __name__ == "__main__":
    main()
