"""CuPy: particles move on the GPU, and NumPy makes a histogram of where they are after each step."""

from __future__ import annotations

import cupy as cp
import cupyx
import numpy as np
from tests.gpu.remedies.loop import Loop, driven, run, sized

PARTICLES, BINS = sized(4_000_000, 1000), 256


def make(variant: str) -> Loop:
    cp.random.seed(0)
    place = cp.random.random(PARTICLES, dtype=cp.float32)
    speed = cp.random.standard_normal(PARTICLES, dtype=cp.float32) * 0.01
    pinned = cupyx.empty_pinned(place.shape, np.float32) if variant == "pinned" else None
    counts: list[np.ndarray] = []

    def step() -> None:
        nonlocal place, speed
        force = -cp.sin(2 * np.pi * place) * np.float32(0.01)
        speed = (speed + force) * np.float32(0.999)
        place = (place + speed) % np.float32(1)
        if variant == "on_gpu":
            found = cp.asnumpy(cp.histogram(place, bins=BINS, range=(0, 1))[0])
        else:
            found, _ = np.histogram(cp.asnumpy(place, out=pinned), bins=BINS, range=(0, 1))
        counts[:] = [found]

    return Loop(drive=driven(step), items=PARTICLES, synchronize=cp.cuda.Device().synchronize)


if __name__ == "__main__":
    run(make, ("base", "on_gpu", "pinned"))
