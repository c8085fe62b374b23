"""Runs made by hand, and whole histories whose truth is known."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from rocm_perf.bench.history.records import SavedRun
from rocm_perf.bench.samples import Result, Samples
from rocm_perf.bench.self_test import SelfTest

MACHINE = {"host": "node1", "gpu": "AMD Instinct MI300X", "uuid": "GPU-1", "torch": "2.9.0"}
SETTINGS = {"warmup": 10, "cold": False}


def run(*processes: Sequence[float], test: SelfTest | None = None, **facts: Any) -> SavedRun:
    """A run whose processes measured these times."""
    samples = tuple(Samples(times_ms=tuple(times), clock="device events") for times in processes)
    result = Result(
        **{
            "target": "model.py:step",
            "processes": samples,
            "machine": MACHINE,
            "settings": SETTINGS,
            "date": "2026-11-16T12:00:00+00:00",
            "commit": "abc123",
            **facts,
        }
    )
    return SavedRun(result=result, self_tests=(test,) if test else ())


def level(median_ms: float, **facts: Any) -> SavedRun:
    """A quiet run of five processes."""
    return run(*([median_ms * (1 + place / 1000)] for place in range(5)), **facts)


def shown(smallest: float, sides: int = 5) -> SelfTest:
    """A self-test that could show this difference."""
    return SelfTest(processes_a_side=sides, comparisons=10, called_different=0, smallest_shown=smallest)


def drawn(source: random.Random, *, day: float, process: float = 0.005, shift: float = 0.0) -> SavedRun:
    """A run of five processes on a day that has an effect of its own; effects are on the logarithm of 10 ms."""
    centre = source.gauss(shift, day)
    return run(*([10 * math.exp(source.gauss(centre, process))] for _ in range(5)))
