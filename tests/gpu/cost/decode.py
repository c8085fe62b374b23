"""A decode loop as small as real ones are: eight layers, one token at a time, `.item()` after each. Prints how long
the steps took and how many kernels they launched.

    python decode.py STEPS [--torch-profiler | --seconds S]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time

import torch

WIDTH, LAYERS, CONTEXT, WARM_UP = 256, 8, 64, 50
KERNELS_A_STEP = 121  # counted by CUPTI on 2026-11-16, torch 2.11


class Layer(torch.nn.Module):
    """Attention over a fixed context, and a feed-forward network."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, token: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(self.norms[0](token)).chunk(3, -1)
        weights = torch.softmax(query @ (keys + key).transpose(-1, -2) / 16, -1)
        token = token + self.out(weights @ (values + value))
        return token + self.down(torch.nn.functional.gelu(self.up(self.norms[1](token))))


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int)
    parser.add_argument("--torch-profiler", action="store_true")
    parser.add_argument("--seconds", type=float, help="go on for so long, whatever the steps")
    args = parser.parse_args()
    torch.manual_seed(0)
    layers = [Layer().cuda().half().eval() for _ in range(LAYERS)]
    keys, values = (torch.randn(1, CONTEXT, WIDTH, device="cuda", dtype=torch.half) for _ in range(2))
    first = torch.randn(1, 1, WIDTH, device="cuda", dtype=torch.half)

    def step() -> float:
        token = first
        for layer in layers:
            token = layer(token, keys, values)
        return float(token.sum().item())

    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    recorded = torch.profiler.profile() if args.torch_profiler else contextlib.nullcontext()
    with recorded:
        step()
        start, steps = time.perf_counter(), 0
        while steps < args.steps or (args.seconds and time.perf_counter() - start < args.seconds):
            step()
            steps += 1
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    facts = {"launches": steps * KERNELS_A_STEP, "seconds": seconds, "ended": time.time()}
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
