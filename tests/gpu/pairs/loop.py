"""A program, looped and timed."""

from __future__ import annotations

import time

from tests.gpu.pairs.pair import Device, Pair, Program

LOOP = "loop"  # the range around it
WARM_UP = 10


def started(pair: Pair, after: bool, device: Device) -> Program:
    """One variant, set up and warm, with nothing left to wait for."""
    device.seed()
    program = pair.make(after)
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
