"""Prints what a launch of a small operator takes the host, in nanoseconds, alone and under torch.profiler: two numbers,
medians of loops by turns. It runs in a process of its own and needs nothing but torch with a GPU."""

from __future__ import annotations

import sys
import time
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile

_LOOPS, _LAUNCHES = 7, 500


def main() -> int:
    """Exits with 1 where torch has no GPU."""
    if not torch.cuda.is_available():
        return 1
    number = torch.zeros(1, device="cuda")

    def launch_ns() -> float:
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(_LAUNCHES):
            number.add_(1)
        elapsed_ns = time.perf_counter_ns() - start
        torch.cuda.synchronize()
        return elapsed_ns / _LAUNCHES

    def profiled_ns() -> float:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True):
            return launch_ns()

    launch_ns(), profiled_ns()
    times = [(launch_ns(), profiled_ns()) for _ in range(_LOOPS)]
    alone, profiled = (median(column) for column in zip(*times))  # noqa: B905  (also runs on Python 3.9)
    sys.stdout.write(f"{alone} {profiled}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
