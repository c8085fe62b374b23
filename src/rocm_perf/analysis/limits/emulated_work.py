"""What a kernel was counted to do while it was executed without a GPU, and how long each unit takes for it.

Where the kernel's time is known, that is the use of its units; where it is not, units are weighed against the longest
of them, which is the least time that the kernel can take.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.machine_ceilings import MATRIX
from rocm_perf.model.results.count import Tally, TallyName

FULL, SURE = 0.6, 0.8  # of the time: a unit is likely the limit, and is the limit
SPECIAL_TIMES = 4  # as long as an addition: counters of MI300X; a quarter of the rate on RDNA too
# An operation in f64 takes so many times as long as one in f32: MI200 and MI300 issue both in one turn (counters);
# AMD gives 1.9 TFLOP/s for a Radeon RX 7900 XTX, and rocprof-compute half of its rate for gfx115x.
_F64_TIMES = {"gfx11": 16, "gfx115": 32, "gfx12": 32}


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What `count` knows of one launch of a kernel. `flops`: operations of matrix units by ceiling ("f16 matrix")."""

    kernel: str
    gfx: str
    wave_size: int
    workgroups: int
    tallies: tuple[Tally, ...]
    flops: Mapping[str, float] = {}

    def of(self, name: TallyName) -> float:
        """Return a tally, 0 where nothing of it was counted."""
        return next((one.amount for one in self.tallies if one.name == name), 0.0)

    def most_at(self, name: TallyName) -> tuple[str, ...]:
        """Return a sentence on the instruction that has the most of it."""
        place = next((one.most_at for one in self.tallies if one.name == name), "")
        return (f"most at {place}",) if place else ()

    def share(self, part: TallyName, *whole: TallyName) -> float:
        """Return a tally as a share of the sum of others, 0 where there are none of these."""
        of = sum(map(self.of, whole))
        return self.of(part) / of if of else 0.0

    @property
    def is_rdna(self) -> bool:
        """Return whether the chip is not of the CDNA family."""
        return not self.gfx.startswith("gfx9")

    @property
    def vector_cycles(self) -> float:
        """Return the cycles of a SIMD that its vector instructions take."""
        return self.turn * (self.of("vector") + sum(self.extra.values()))

    @property
    def turn(self) -> float:
        """Return the cycles of a SIMD that a plain vector instruction takes."""
        return self.wave_size / 32 if self.is_rdna else 4.0

    @property
    def extra(self) -> Mapping[str, float]:
        """Return the turns that slow instructions take beyond one."""
        special = SPECIAL_TIMES
        return {
            "special": (special - 1) * self.of("special"),
            "f64": (self.f64_times - 1) * (self.of("f64") + self.of("f64 conversions")),
        }

    @property
    def f64_times(self) -> int:
        """Return how many times as long as in f32 an operation in f64 takes."""
        known = [family for family in _F64_TIMES if self.gfx.startswith(family)]
        return _F64_TIMES[max(known, key=len)] if known else 1


class Loads(msgspec.Struct, frozen=True):
    """How busy each unit is, as shares of one time: that of the kernel, or the least that its counts allow."""

    shares: Mapping[str, float]
    whole_ns: float
    is_timed: bool

    def of(self, unit: str) -> float:
        return min(1.0, self.shares.get(unit, 0.0))

    @property
    def fullest(self) -> str:
        """Return the fullest unit."""
        return max(self.shares, key=lambda unit: self.shares[unit], default="")

    @property
    def idle(self) -> float:
        """Return the share of the time that even the fullest unit is not busy."""
        return max(0.0, 1 - max(self.shares.values(), default=0.0))

    def saved(self, relieved: Mapping[str, float]) -> float:
        """Return the share of the time that is saved at most when units keep only these shares of their work."""
        left = max((self.of(unit) * relieved.get(unit, 1.0) for unit in self.shares), default=0.0)
        freed = max((self.of(unit) * (1 - share) for unit, share in relieved.items()), default=0.0)
        return max(0.0, min(freed, 1 - left))


def loads_of(counts: Counts, gpu: Gpu | None, time_ns: float | None) -> Loads:
    """Return how busy the units are."""
    times = _least_times(counts, gpu, is_spread=time_ns is not None)
    whole = time_ns if time_ns and gpu else max(times.values(), default=0.0)
    shares = {unit: ns / whole for unit, ns in times.items() if whole}
    return Loads(shares, whole, is_timed=bool(time_ns and gpu))


def _least_times(counts: Counts, gpu: Gpu | None, *, is_spread: bool) -> dict[str, float]:
    """Return how long each unit takes in nanoseconds; cycles of one compute unit where the GPU is not known.

    `is_spread`: all compute units count, else those that a workgroup can be on.
    """
    simds = (gpu.simds_per_cu if gpu else 2) if counts.is_rdna else 4
    units = float(gpu.compute_units) if gpu else 1.0
    used = units if is_spread else min(units, counts.workgroups)
    ghz = gpu.clock_mhz / 1000 if gpu else 1.0
    per_scalar = counts.of("scalar") / (simds if counts.is_rdna else 1)
    cycles = {
        "vector": counts.vector_cycles / simds,
        "scalar": per_scalar,
        "lds": counts.of("lds cycles"),
        "l1": counts.of("l1 look-ups"),
    }
    times = {unit: amount / max(1.0, used) / ghz for unit, amount in cycles.items()}
    if gpu is not None:
        times["memory"] = counts.of("compulsory bytes") / gpu.memory_gbps
        times["matrix"] = sum(
            amount / gpu.matrix_tflops[dtype] / 1000
            for ceiling, amount in counts.flops.items()
            if ceiling.endswith(MATRIX) and (dtype := ceiling.removesuffix(MATRIX)) in gpu.matrix_tflops
        )
    return {unit: ns for unit, ns in times.items() if ns > 0}
