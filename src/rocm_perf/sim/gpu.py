"""GPUs that the simulator knows: rates, costs and power, from the files in gpus/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from rocm_perf.errors import InputError, UsageError
from rocm_perf.sim.steps import Kernel
from rocm_perf.sim.workload import tomllib

PREFIX = "sim:"


@dataclass(frozen=True)
class SimGpu:
    """One model of a GPU."""

    name: str
    gfx: str
    compute_units: int
    simds: int
    dies: int
    wave_size: int
    clock_mhz: float
    memory_bytes: int
    lds_bytes: int
    max_waves_per_simd: int
    rates: Mapping[str, Any]
    costs_us: Mapping[str, float]
    copies_gbps: Mapping[str, float]
    power_w: Mapping[str, float]
    clock: Mapping[str, float] = field(default_factory=dict)  # no entries: no ramp

    def cost_ns(self, name: str) -> int:
        return round(1000 * self.costs_us[name])

    def kernel_ns(self, kernel: Kernel) -> float:
        """The longest of what its operations and its bytes at each level take; never below the floor."""
        if kernel.duration_us is not None:
            return 1000 * kernel.duration_us / kernel.speedup
        peaks = self.rates["matrix" if kernel.matrix else "vector"]
        for dtype in kernel.flops:
            if dtype not in peaks:
                units = "matrix" if kernel.matrix else "vector"
                raise InputError(
                    f"kernel {kernel.name!r} computes {dtype}", f"the {units} units of {self.name} cannot"
                )
        compute = sum(amount / peaks[dtype] for dtype, amount in kernel.flops.items())
        moved = [amount / self.rates[level] for level, amount in kernel.bytes.items()]
        # TFLOP/s and TB/s are 1e3 per nanosecond.
        limit: float = max([compute, *moved]) / 1e3 / self.rates["efficiency"]
        return max(1000 * self.costs_us["kernel_floor"], limit) / kernel.speedup

    def share(self, kernel: Kernel) -> float:
        """How much of the GPU the kernel fills: all of it from two workgroups a compute unit on."""
        return min(1.0, kernel.workgroups / (2 * self.compute_units))

    def copy_ns(self, kind: str, size_bytes: int, pinned: bool) -> float:
        rate = self.copies_gbps["device" if kind == "D2D" else "pinned" if pinned else "pageable"]
        return 1000 * self.costs_us["copy_latency"] + size_bytes / rate


@cache
def gpus() -> Mapping[str, SimGpu]:
    """Every model, by the name of its file."""
    folder = resources.files("rocm_perf.sim") / "gpus"
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name
    )
    return {entry.name.removesuffix(".toml"): SimGpu(**tomllib.loads(entry.read_text())) for entry in files}


def find_gpu(device: str) -> SimGpu:
    """`sim:MI300X` -> its model."""
    name = device.removeprefix(PREFIX)
    for known, gpu in gpus().items():
        if known.lower() == name.lower():
            return gpu
    raise UsageError(
        f"there is no simulated GPU {name!r}",
        next_step=f"Known: {', '.join(PREFIX + known for known in gpus())}.",
    )
