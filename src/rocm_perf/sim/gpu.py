"""The simulated GPUs: size and peaks from the catalogue; efficiency, costs and power from gpus/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError, UsageError
from rocm_perf.sim.steps import Kernel

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
    clock: Mapping[str, float] = field(default_factory=dict)  # empty: no ramp

    def cost_ns(self, name: str) -> int:
        """A cost of costs_us, in nanoseconds."""
        return round(1000 * self.costs_us[name])

    def kernel_ns(self, kernel: Kernel) -> float:
        """How long a kernel runs: the longest of its operations and its bytes at each level, and at least the floor."""
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
        moved.append(kernel.bytes.get("lds", 0.0) * (1 + kernel.lds_conflicts) / self.rates["lds"])
        # TFLOP/s and TB/s are 1e3 per nanosecond.
        limit: float = max([compute, *moved]) / 1e3 / self.rates["efficiency"]
        return max(1000 * self.costs_us["kernel_floor"], limit) / kernel.speedup

    def share(self, kernel: Kernel) -> float:
        """How much of the GPU the kernel fills: all of it with two workgroups per compute unit or more."""
        return min(1.0, kernel.workgroups / (2 * self.compute_units))

    def copy_ns(self, kind: str, size_bytes: int, pinned: bool) -> float:
        """How long a copy takes: its latency, and its bytes at the rate of its kind of memory."""
        rate = self.copies_gbps["device" if kind == "D2D" else "pinned" if pinned else "pageable"]
        return 1000 * self.costs_us["copy_latency"] + size_bytes / rate


@cache
def gpus() -> Mapping[str, SimGpu]:
    """Every model by the name of its file; those that do not derive from another come first."""
    folder = resources.files("rocm_perf.sim") / "gpus"
    files = {
        entry.name.removesuffix(".toml"): read_toml(entry.read_bytes(), entry.name)
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    }
    order = sorted(files, key=lambda name: "like" in files[name])
    return {name: _model(_like(files[name], files)) for name in order}


def _like(model: dict[str, Any], files: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A model completed by the one that its `like` names."""
    if "like" not in model:
        return model
    whole = _merged(_like(files[model["like"]], files), model)
    del whole["like"]
    return whole


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(below[key], above[key]) for key in below.keys() & above if isinstance(above[key], dict)
    }
    return {**below, **above, **both}


def _model(model: Mapping[str, Any]) -> SimGpu:
    known = catalog.find_gpu(model["gpu"])
    own = {key: value for key, value in model.items() if key != "gpu"}
    return SimGpu(**_merged(_from_catalogue(known), own))


def _from_catalogue(gpu: Gpu) -> dict[str, Any]:
    return {
        "name": gpu.name,
        "gfx": gpu.gfx,
        "compute_units": gpu.compute_units,
        "simds": gpu.simds,
        "dies": gpu.dies,
        "wave_size": gpu.wave_size,
        "clock_mhz": gpu.clock_mhz,
        "memory_bytes": gpu.memory_bytes,
        "lds_bytes": gpu.lds_bytes // gpu.cus_per_lds,
        "max_waves_per_simd": gpu.max_waves_per_simd[gpu.wave_size],
        "rates": {
            "hbm": gpu.memory_gbps / 1000,
            "vector": dict(gpu.vector_tflops),
            "matrix": dict(gpu.matrix_tflops),
        },
    }


def find_gpu(device: str) -> SimGpu:
    """The model of a simulated device: `sim:MI300X`, or by its chip, `sim:gfx942`."""
    name = device.removeprefix(PREFIX)
    for known, gpu in gpus().items():
        if name.lower() in (known.lower(), gpu.gfx):
            return gpu
    raise UsageError(
        f"there is no simulated GPU {name!r}",
        next_step=f"Known: {', '.join(PREFIX + known for known in gpus())}.",
    )
