"""What the CUPTI tracer adds to each launch on this machine, kept beside it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from rocm_perf.backends.launch_cost import LaunchCost, keep, printed_times

_PROBE = Path(__file__).with_name("launch_probe.py")
_ROUNDS = 3


def cost_file(tracer: Path) -> Path:
    return tracer.parent / "launch_cost.json"


def measure(tracer: Path, environment: Mapping[str, str]) -> None:
    """Measure by turns, without the tracer and with it (`environment` loads it), and keep the medians."""
    alone: list[list[float]] = []
    traced: list[list[float]] = []
    for _ in range(_ROUNDS):
        for runs, variables in ((alone, {}), (traced, environment)):
            printed = printed_times([sys.executable, "-I", str(_PROBE)], variables)
            if not printed:
                return
            runs.append(printed)
    keep(_cost(_medians(alone), _medians(traced)), cost_file(tracer))


def _medians(runs: Sequence[Sequence[float]]) -> list[float]:
    """Of each figure that every run printed."""
    return [median(figures) for figures in zip(*runs, strict=False)]


def _cost(alone: Sequence[float], traced: Sequence[float]) -> LaunchCost:
    graphs = (alone[1], traced[1]) if min(len(alone), len(traced)) > 1 else (None, None)
    return LaunchCost(alone[0], traced[0], *graphs)
