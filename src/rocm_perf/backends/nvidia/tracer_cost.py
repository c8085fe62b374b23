"""What the CUPTI tracer adds to each launch on this machine, kept beside it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from rocm_perf.backends.launch_cost import LaunchCost, keep, printed_times

_PROBE = Path(__file__).with_name("launch_probe.py")
_ROUNDS = 3


def cost_file(tracer: Path) -> Path:
    return tracer.parent / "launch_cost.json"


def measure(tracer: Path, environment: Mapping[str, str]) -> None:
    """Measure by turns, without the tracer and with it (`environment` loads it), and keep the medians."""
    alone: list[float] = []
    traced: list[float] = []
    for _ in range(_ROUNDS):
        for times, variables in ((alone, {}), (traced, environment)):
            printed = printed_times([sys.executable, "-I", str(_PROBE)], variables)
            if not printed:
                return
            times.append(printed[0])
    keep(LaunchCost(alone_ns=median(alone), traced_ns=median(traced)), cost_file(tracer))
