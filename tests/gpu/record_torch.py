"""Records a small decoder loop with torch.profiler on a real GPU, eager and as a CUDA graph, and what torch itself
says of the same recording, so that our reading can be compared with it. Usage: record_torch.py OUT_DIR"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self, width: int = 512, heads: int = 8) -> None:
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


def step(model: nn.Module, x: torch.Tensor, synchronise: bool) -> torch.Tensor:
    with record_function("decode_step"):
        y = model(x)
        if synchronise:
            torch.cuda.synchronize()
    return y


def record(folder: Path, name: str, run: Any, steps: int = 5) -> None:
    """One recording, and torch's own table of it."""
    run()
    torch.cuda.synchronize()
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True
    ) as prof:
        for _ in range(steps):
            run()
        torch.cuda.synchronize()
    prof.export_chrome_trace(str(folder / f"{name}.json.gz"))
    kernels: dict[str, list[float]] = {}
    for event in prof.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and not event.is_user_annotation:
            entry = kernels.setdefault(event.name, [0, 0.0])
            entry[0] += 1
            entry[1] += (
                event.device_time_total if hasattr(event, "device_time_total") else event.cuda_time_total
            )
    truth = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "kernels_us": kernels}
    (folder / f"{name}.truth.json").write_text(json.dumps(truth, indent=1))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(4))).cuda().half().eval()
    x = torch.randn(2, 64, 512, device="cuda", dtype=torch.half)
    with torch.no_grad():
        record(folder, "eager_sync", lambda: step(model, x, True))
        for _ in range(3):
            model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
        record(folder, "graph", graph.replay)


if __name__ == "__main__":
    main()
