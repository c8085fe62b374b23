"""What one GPU of a machine was measured to reach: the file that `rocm-perf ceilings` keeps, and analyses take."""

from __future__ import annotations

from statistics import median

import msgspec

SCHEMA_VERSION = 1
MATRIX, VECTOR = " matrix", " vector"
MEMORY_RATES = ("memory read", "memory write", "memory copy")
L2_RATE, LDS_RATE = "L2 read", "LDS read"


class MeasuredGpu(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU as the runtime describes it."""

    name: str
    gfx: str  # gfx942, sm_90
    uuid: str = ""
    compute_units: int | None = None
    memory_bytes: int | None = None

    @property
    def agent(self) -> dict[str, object]:
        """The GPU as a row of the table `agents`, which the catalogue can be asked about."""
        return {
            "name": self.name,
            "gfx": self.gfx,
            "cu_count": self.compute_units,
            "memory_bytes": self.memory_bytes,
        }


class MeasuredRate(msgspec.Struct, frozen=True, kw_only=True):
    """One rate or cost, measured several times."""

    name: str  # "memory copy", "f16 matrix", "launch", "host to device, pinned"
    unit: str  # TB/s, GB/s, TFLOP/s, TOP/s, us
    samples: tuple[float, ...]
    how: str  # "torch.matmul", "HIP kernels"

    def __post_init__(self) -> None:
        if not self.samples or not all(0 < sample < float("inf") for sample in self.samples):
            raise ValueError(f"{self.name!r} has no samples, or one that is not a positive number")

    @property
    def value(self) -> float:
        """The median of the samples."""
        return median(self.samples)


class NotMeasured(msgspec.Struct, frozen=True):
    """A rate that could not be measured, and why."""

    name: str
    reason: str


class MachineCeilings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was measured of one GPU. `host` may also say "this machine", where a reader is on that host."""

    gpu: MeasuredGpu
    host: str
    date: str  # 2026-11-16T12:30:00Z
    rates: tuple[MeasuredRate, ...]
    not_measured: tuple[NotMeasured, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def where_and_when(self) -> str:
        """For example "this machine on 2026-11-16"."""
        return f"{self.host} on {self.date[:10]}"

    def best(self, *names: str) -> MeasuredRate | None:
        """The highest of the rates with one of these names; None where there is none."""
        rates = [rate for rate in self.rates if rate.name in names]
        return max(rates, key=lambda rate: rate.value, default=None)
