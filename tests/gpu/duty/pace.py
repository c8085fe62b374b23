"""What windows that recur cost a program, told from its own steps: how long they take before the first window, in the
windows, around them and between them. One process is compared with itself, because equal processes differ by more than
a percent: before the first window CUPTI is not there, and between windows it may have stayed, which notices say. Prints
one JSON object.

    PYTHONPATH=src:. python tests/gpu/duty/pace.py [--delay 10] [--windows 2] [--period 60] [--only serving] [--keep D]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.gpu.duty import residue

from rocm_perf.backends.base import Wish
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.probe import probe_machine
from rocm_perf.collect.request.window import window_of
from rocm_perf.ingest.io.blocks import read_blocks
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.load import load
from rocm_perf.model.window import Window

PROGRAMS = ("plain", "decode", "threads", "serving", "small serving")
LAYERS, BATCH = 24, 8
WIDTH, SMALL_WIDTH = 8192, 2048  # of 26 GB of weights, which take some 7 ms to read, and of 1.6
ATTACHING_NS = 200_000_000  # before a window is open
LEAVING_NS = 1_500_000_000  # after it closed: lingering, writing, detaching


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=10, help="seconds before the first window")
    parser.add_argument("--windows", type=int, default=2)
    parser.add_argument("--period", type=float, default=60)
    parser.add_argument("--duty", default="10%")
    parser.add_argument("--only", choices=PROGRAMS, action="append", help="of the programs (default: all)")
    parser.add_argument("--keep", type=Path, help="the recordings, in this folder")
    parser.add_argument(
        "--program", choices=PROGRAMS, help="be this program, and write the ends of its steps"
    )
    parser.add_argument("--library", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seconds", type=float)
    args = parser.parse_args()
    if args.program:
        np.save(args.output, np.array(ends_of_steps(step_of(args.program, args.library), args.seconds)))
        return 0
    seconds = args.delay + args.windows * args.period
    window = window_of({"delay": args.delay, "duty": args.duty, "period": args.period})
    with tempfile.TemporaryDirectory() as folder:
        work = args.keep or Path(folder)
        built = residue.library(work)
        CuptiProfiler().prepare(probe_machine())
        results = {
            program: paces(program, window, seconds, built, work / program)
            for program in args.only or PROGRAMS
        }
    print(json.dumps(results))
    return 0


def paces(program: str, window: Window, seconds: float, built: Path, work: Path) -> dict[str, Any]:
    work.mkdir()
    output = work / "ends.npy"
    wish = Wish(domains=("kernel", "hip", "copy", "marker"), window=window)
    recorder = CuptiProfiler().command(wish, (), work / "run", probe_machine()).environment
    me = [sys.executable, __file__, "--program", program, "--seconds", str(seconds)]
    command = [*me, "--library", str(built), "--output", str(output)]
    environment = {**os.environ, **recorder}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=seconds + 120
    )
    if done.returncode:
        return {"died": done.returncode, "stderr": done.stderr[-1500:]}
    (file,) = (work / "run").rglob("*.rptrace")
    trace = load(file)
    return {
        **costs(np.load(output), windows(file), window.period_s),
        "rows": {table: trace.rows(table) for table in ("dispatches", "api_calls", "copies")},
        "notices": list(trace.run.notices),
        "bytes": file.stat().st_size,
    }


def windows(file: Path) -> list[tuple[int, int]]:
    """When each opened and closed, on the clock that the program reads: CUPTI's is the system's."""
    changes = read_blocks(Source(file), {"v": ("time_ns", "is_open")}).tables["v"]
    times: dict[bool, list[int]] = {True: [], False: []}
    for time_ns, is_open in changes.iter_rows():
        times[bool(is_open)].append(time_ns)
    return list(zip(times[True], times[False], strict=False))


def costs(ends: np.ndarray, opened: Sequence[tuple[int, int]], period_s: float) -> dict[str, Any]:
    """Steps before, in and between the windows, and what the program lost by each window."""
    starts, stops = ends[:-1], ends[1:]
    taken = stops - starts
    inside, around = np.zeros(len(taken), bool), np.zeros(len(taken), bool)
    for start, end in opened:
        inside |= (stops > start) & (starts < end)
        around |= (stops > start - ATTACHING_NS) & (starts < end + LEAVING_NS)
    before = stops < opened[0][0] - ATTACHING_NS
    before &= starts > ends[0] + 1_000_000_000
    classes = {
        "before": before,
        "in windows": inside,
        "around them": around & ~inside,
        "between": ~around & (starts > opened[0][1]),
    }
    base = float(np.mean(taken[classes["between"]]))
    lost_ms = [
        float(np.sum(taken[(stops > start - ATTACHING_NS) & (starts < end + LEAVING_NS)] - base)) / 1e6
        for start, end in opened
    ]
    lost = (
        float(np.mean(lost_ms[1:] or lost_ms)) / 1e3 / period_s
    )  # before the first one it is there for long
    return {
        "windows_ms": [round((end - start) / 1e6, 1) for start, end in opened],
        "step_us": {name: summary(taken[chosen]) for name, chosen in classes.items() if chosen.any()},
        "lost_ms": [round(each, 2) for each in lost_ms],
        "lost_percent": round(100 * lost, 3),
        "slower_percent": {
            "in all": slower_percent(taken, starts >= opened[0][0], before),
            "between": slower_percent(taken, classes["between"], before),
        },
    }


def slower_percent(taken: np.ndarray, some: np.ndarray, before: np.ndarray) -> float | None:
    """How much longer some steps take than those before the first window; None where there are none before it."""
    return round(100 * float(np.mean(taken[some]) / np.mean(taken[before]) - 1), 3) if before.any() else None


def summary(steps: np.ndarray) -> dict[str, float]:
    values = {"median": np.median(steps), "mean": np.mean(steps), "max": np.max(steps)}
    return {"steps": len(steps), **{name: round(float(value) / 1e3, 2) for name, value in values.items()}}


def ends_of_steps(step: Callable[[], object], seconds: float) -> list[int]:
    ends = [time.time_ns()]
    while ends[-1] - ends[0] < seconds * 1e9:
        step()
        ends.append(time.time_ns())
    return ends


def step_of(program: str, built: Path) -> Callable[[], object]:
    if program == "plain":
        cupti = residue.opened(built)
        cupti.prepare()
        return lambda: cupti.plain(100)
    if program in ("decode", "threads"):
        if program == "threads":
            threading.Thread(target=copy_now_and_then, daemon=True).start()
        step, wait = residue.torch_step(), torch_wait()
        return lambda: (step(), wait())
    return serving_step(WIDTH if program == "serving" else SMALL_WIDTH)


def torch_wait() -> Callable[[], None]:
    import torch

    return torch.cuda.synchronize


def copy_now_and_then() -> None:
    """As a thread that brings the next requests does."""
    import torch

    stream = torch.cuda.Stream()
    data = torch.zeros(1 << 16, pin_memory=True)
    while True:
        with torch.cuda.stream(stream):
            data.cuda(non_blocking=True)
        stream.synchronize()
        time.sleep(0.01)


def serving_step(width: int) -> Callable[[], object]:
    """A token for each of eight requests: a graph of some 270 kernels, and what lies around it."""
    import torch

    torch.set_grad_enabled(False)
    half = {"device": "cuda", "dtype": torch.half}
    weights = [
        (torch.randn(width, 4 * width, **half) / 64, torch.randn(4 * width, width, **half) / 64)
        for _ in range(LAYERS)
    ]
    tokens = torch.zeros(BATCH, width, **half)
    chosen = torch.zeros(BATCH, device="cuda", dtype=torch.long)

    def model() -> None:
        hidden = tokens
        for up, down in weights:
            normed = torch.nn.functional.layer_norm(hidden, (width,))
            hidden = hidden + torch.nn.functional.gelu(normed @ up) @ down
            hidden = hidden / (1 + hidden.abs().amax(-1, keepdim=True))
        chosen.copy_(hidden.argmax(-1))

    model()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model()
    inputs = torch.randn(BATCH, width).half().pin_memory()

    def step() -> list[int]:
        tokens.copy_(inputs, non_blocking=True)
        graph.replay()
        return list(chosen.tolist())

    for _ in range(20):
        step()
    return step


if __name__ == "__main__":
    sys.exit(main())
