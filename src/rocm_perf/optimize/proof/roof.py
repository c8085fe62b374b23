"""The most that a GPU can move and compute, generously: what is faster than this cannot be true."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.matching import match
from rocm_perf.model.machine_ceilings import MEMORY_RATES, MachineCeilings
from rocm_perf.model.results.replay import CapturedDevice

# Bytes that a compute unit stores per clock at most: the width of its vector L1 (CDNA 3 white paper: 128 bytes; an SM
# has the same). No cache below takes more.
_STORE_WIDTH = 128
_MEASURED_SLACK = 1.1  # a measured ceiling may have been missed by so much


@dataclass(frozen=True)
class Roof:
    """Rates per nanosecond: in bytes, which is GB/s, and in FLOPs."""

    memory: float
    cache: float  # of all compute units together
    cache_bytes: int  # of the largest cache: so much may be there before, and stay there afterwards
    name: str
    flops: float = (
        math.inf
    )  # by the fastest units, of any type: which one a kernel may use is not judged here

    def least_ns(self, read_bytes: int, written_bytes: int, flops: float = 0.0) -> float:
        """The time below which nobody can read, write and compute so much."""
        through_memory = sum(max(0, size - self.cache_bytes) for size in (read_bytes, written_bytes))
        return max(through_memory / self.memory, written_bytes / self.cache, flops / self.flops)


def roof_of(device: CapturedDevice, measured: Sequence[MachineCeilings] = ()) -> Roof | None:
    """The roof of a GPU, by the catalogue or by what was measured on it, whichever is higher; None for one that the
    catalogue does not have."""
    gpu = _known(device)
    if gpu is None:
        return None
    own = (one for one in measured if device.uuid and one.gpu.uuid == device.uuid)
    return Roof(
        memory=max([gpu.memory_gbps, *(_MEASURED_SLACK * _measured_gbps(one) for one in own)]),
        cache=gpu.compute_units * _STORE_WIDTH * gpu.clock_mhz / 1e3,
        cache_bytes=max(gpu.l2_bytes or 0, gpu.last_level_bytes or 0),
        name=gpu.name,
        flops=max(_floating(gpu), default=math.inf) * 1e3,
    )


def _floating(gpu: Gpu) -> Iterator[float]:
    """Peaks in TFLOP/s."""
    for peaks in (gpu.vector_tflops, gpu.matrix_tflops):
        yield from (rate for dtype, rate in peaks.items() if not dtype.startswith("i"))


def _known(device: CapturedDevice) -> Gpu | None:
    """The GPU of the catalogue; where several could be meant, the one with the most bandwidth."""
    agent = {"name": device.name, "gfx": device.gfx, "memory_bytes": device.memory_bytes}
    found = match(agent).gpu
    return found or max(catalog.gpus_of(device.gfx), key=lambda gpu: gpu.memory_gbps, default=None)


def _measured_gbps(ceilings: MachineCeilings) -> float:
    best = ceilings.best(*MEMORY_RATES)
    return 1e3 * best.value if best and best.unit == "TB/s" else 0.0
