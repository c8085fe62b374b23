"""Trains a small model whose bytes are known on a real GPU, with a leak and torn memory planted, and records it as
torch memory snapshots and as a torch.profiler trace, with what torch's own statistics say. Usage: record.py OUT_DIR

check.py reads what this leaves and compares; it needs no GPU.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")  # names of C++ functions without minutes of addr2line

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

WIDTH, LAYERS, ROWS = 1024, 4, 4096
WARM, STEPS = 2, 6
LEAK_BYTES = 4 << 20  # as large as a weight, so that segments are divided without remainders
TORN_BYTES, TORN = 4 << 20, 32


class Net(nn.Module):
    """Linear layers and their activations."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


class Training:
    """The model, its optimiser, and what it forgets to give back."""

    def __init__(self) -> None:
        self.net = Net().to("cuda")
        self.optimiser = torch.optim.Adam(self.net.parameters())
        self.kept: list[torch.Tensor] = []

    def step(self) -> None:
        batch = torch.randn(ROWS, WIDTH, device="cuda")
        self.net(batch).square().mean().backward()
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.remember()

    def remember(self) -> None:
        """The leak."""
        self.kept.append(torch.empty(LEAK_BYTES, dtype=torch.uint8, device="cuda"))

    def known_bytes(self) -> dict[str, int]:
        parameters = sum(p.numel() * p.element_size() for p in self.net.parameters())
        state = [value for entry in self.optimiser.state.values() for value in entry.values()]
        return {
            "parameter_bytes": parameters,
            "optimiser_bytes": sum(v.numel() * v.element_size() for v in state if v.is_cuda),
            "leak_bytes_per_step": LEAK_BYTES,
        }


def statistics() -> dict[str, int]:
    """What torch's allocator counts."""
    torch.cuda.synchronize()
    counted = torch.cuda.memory_stats()
    wanted = ("allocated", "reserved", "requested", "inactive_split", "active")
    return {
        f"{name}_{kind}": counted[f"{name}_bytes.all.{kind}"]
        for name in wanted
        for kind in ("current", "peak")
    }


def torn() -> list[torch.Tensor]:
    """Every second of many blocks, so that what is free lies in pieces."""
    blocks = [torch.empty(TORN_BYTES, dtype=torch.uint8, device="cuda") for _ in range(TORN)]
    return blocks[::2]


def dump(path: Path) -> None:
    """The snapshot as torch writes it, packed."""
    with gzip.open(path, "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)


def snapshot(folder: Path, name: str, stacks: str, steps: int) -> dict[str, Any]:
    """One training run under the allocator's own history."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks=stacks)
    training = Training()
    for number in range(steps):
        with torch.profiler.record_function(f"ProfilerStep#{number}"):
            training.step()
    held = torn()
    counted = statistics()
    begun = time.monotonic()
    dump(folder / f"{name}.pickle.gz")
    torch.cuda.memory._record_memory_history(enabled=None)
    assert held
    return {**counted, **training.known_bytes(), "steps": steps, "dump_s": time.monotonic() - begun}


def trace(folder: Path) -> dict[str, Any]:
    """The same under torch.profiler, after warm-up: its parameters were there before."""
    training = Training()
    for _ in range(WARM):
        training.step()
    before = statistics()["allocated_current"]
    torch.cuda.reset_peak_memory_stats()
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=0, warmup=0, active=STEPS, repeat=1),
        profile_memory=True,
        with_stack=True,
        on_trace_ready=lambda prof: prof.export_chrome_trace(str(folder / "trace.json.gz")),
    ) as prof:
        for _ in range(STEPS):
            training.step()
            prof.step()
    return {**statistics(), **training.known_bytes(), "steps": STEPS, "allocated_before": before}


def main() -> None:
    """Record everything, the trace first: its warm-up makes the libraries' own workspaces."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    truth = {
        "trace": trace(folder),
        "python": snapshot(folder, "python", "python", STEPS),
        "native": snapshot(folder, "native", "all", 2),
        "device": torch.cuda.get_device_name(),
        "memory_bytes": torch.cuda.get_device_properties(0).total_memory,
        "torch": torch.__version__,
    }
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    for path in sorted(folder.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    print(json.dumps(truth, indent=1))


if __name__ == "__main__":
    main()
