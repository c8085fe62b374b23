"""A program, looped and timed."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.gpu.pairs.pair import Device, Program

LOOP = "loop"  # the range around it
WARM_UP = 10


def started(make: Callable[[], Program], device: Device) -> Program:
    """A program, set up and warm, with nothing left to wait for."""
    device.seed()
    program = make()
    for number in range(WARM_UP):
        program.step(number)
    device.synchronize()
    return program


def us_per_step(program: Program, steps: int, device: Device) -> float:
    """The host's wall time of a loop, until the GPU is done as well. One range is around it, and none around a step:
    whoever reads a recording has to find the steps."""
    device.synchronize()
    device.rest()
    begun = time.perf_counter()
    with device.range(LOOP):
        for number in range(steps):
            program.step(number)
    device.synchronize()
    return 1e6 * (time.perf_counter() - begun) / steps
