"""Records pairs of programs on a real GPU, before and after a change, for docs/whatif.md: a torch.profiler trace of
each (the prediction is made from the first of a pair), and wall times with and without the profiler.
Usage: record_whatif.py OUT_DIR"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from record_torch import Block
from torch import nn
from torch.profiler import ProfilerActivity, profile

STEPS = 12
REPEATS = 50
PROFILED = 9
ROUNDS = 5  # variants take turns, so that a slow moment of the machine meets all of them

Loop = Callable[[], None]


def copy_loop(synchronise: bool) -> Loop:
    """A kernel that copies 8 MiB, sixteen times a step; with or without waiting after each."""
    source = torch.randn(2 * 1024 * 1024, device="cuda")
    target = torch.empty_like(source)

    def loop() -> None:
        for _ in range(16 * STEPS):
            torch.add(source, 1.0, out=target)
            if synchronise:
                torch.cuda.synchronize()
        torch.cuda.synchronize()

    return loop


def decode_loop(batch: int, length: int, synchronise: bool) -> Loop:
    """A small decoder, step by step; with or without waiting after each step."""
    model, x = decoder(batch, length)

    def loop() -> None:
        with torch.no_grad():
            for _ in range(STEPS):
                model(x)
                if synchronise:
                    torch.cuda.synchronize()
        torch.cuda.synchronize()

    return loop


def graph_loop(batch: int, length: int) -> Loop:
    """The same steps as one CUDA graph each."""
    model, x = decoder(batch, length)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        for _ in range(3):
            model(x)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            model(x)

    def loop() -> None:
        for _ in range(STEPS):
            graph.replay()
        torch.cuda.synchronize()

    return loop


def decoder(batch: int, length: int) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(4))).cuda().half().eval()
    return model, torch.randn(batch, length, 512, device="cuda", dtype=torch.half)


def wall_us(loop: Loop) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    loop()
    return (time.perf_counter_ns() - start) / 1000


def record(loop: Loop, path: Path) -> float:
    """A trace of one loop, and its wall time while it was profiled."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        profiled = wall_us(loop)
    profiler.export_chrome_trace(str(path))
    return profiled


def record_all(loops: dict[str, Loop], folder: Path) -> dict[str, list[float]]:
    """Profiled walls of every loop, in turns; the trace that is kept is the one of the median wall."""
    walls: dict[str, list[float]] = {name: [] for name in loops}
    for number in range(PROFILED + 1):  # the first warms the profiler up
        for name, loop in loops.items():
            walls[name].append(record(loop, folder / f"{name}.{number}.json.gz"))
    for name, values in walls.items():
        kept = values.index(statistics.median_low(values[1:]), 1)
        (folder / f"{name}.{kept}.json.gz").rename(folder / f"{name}.json.gz")
        for other in folder.glob(f"{name}.[0-9]*.json.gz"):
            other.unlink()
    return {name: values[1:] for name, values in walls.items()}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    loops: dict[str, Loop] = {
        "copy_sync": copy_loop(True),
        "copy_free": copy_loop(False),
        "decode_sync": decode_loop(2, 64, True),
        "decode_free": decode_loop(2, 64, False),
        "decode_graph": graph_loop(2, 64),
        "large_sync": decode_loop(16, 1024, True),
        "large_free": decode_loop(16, 1024, False),
    }
    samples: dict[str, list[float]] = {name: [] for name in loops}
    for loop in loops.values():
        for _ in range(5):
            loop()
    for _ in range(ROUNDS):
        for name, loop in loops.items():
            samples[name] += [wall_us(loop) for _ in range(REPEATS // ROUNDS)]
    profiled = record_all(loops, folder)
    walls = {name: {"plain_us": samples[name], "profiled_us": profiled[name]} for name in loops}
    machine = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "steps": STEPS}
    (folder / "walls.json").write_text(json.dumps({**machine, "walls": walls}, indent=1))


if __name__ == "__main__":
    main()
