"""Energy of GPUs, kernels and steps, from power readings."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class GpuEnergy(msgspec.Struct, frozen=True):
    """One GPU over the time in which its power was read."""

    node: int
    agent_id: int | None  # as the sensor counts GPUs
    kernels_of: int | None  # the GPU of the kernels, which may be numbered differently
    readings: int
    interval_ns: float  # median time between readings
    window_ns: int
    energy: Quantity
    mean_power: Quantity
    peak_power_w: float
    mean_clock: Quantity
    busy_j: float  # while a kernel ran
    idle_j: float  # energy - busy_j


class KernelEnergy(msgspec.Struct, frozen=True):
    """One kernel over all its dispatches. Energies are parts of busy_j: they never sum to more than was used."""

    kernel: str
    dispatches: int
    gpu_ns: int
    energy_j: float
    mean_power_w: float


class FamilyEnergy(msgspec.Struct, frozen=True):
    """All kernels of one family."""

    family: str
    dispatches: int
    gpu_ns: int
    energy_j: float


class StepEnergy(msgspec.Struct, frozen=True):
    """One step of the program, on all GPUs of its node."""

    name: str
    start_ns: int
    end_ns: int
    energy_j: float


class SensorSeries(msgspec.Struct, frozen=True):
    """One sensor of one GPU over time, in at most 200 stretches: when, and what it read."""

    metric: str  # power_w, clock_mhz, temperature_c, ...
    unit: str
    node: int
    agent_id: int | None  # as the sensor counts GPUs
    readings: int
    at_ns: tuple[int, ...]  # mean time of the readings of each stretch, on the recording's own clock
    lowest: tuple[float, ...]
    mean: tuple[float, ...]
    highest: tuple[float, ...]


class Energy(msgspec.Struct, frozen=True):
    """Energy of a run, and how far it can be trusted."""

    gpus: tuple[GpuEnergy, ...]
    kernels: tuple[KernelEnergy, ...]
    families: tuple[FamilyEnergy, ...]
    steps: tuple[StepEnergy, ...]
    left_out: int  # dispatches outside the time in which power was read
    limits: tuple[str, ...]
    kernels_unavailable: str | None = None
    sensors: tuple[SensorSeries, ...] = ()  # clocks and temperatures as well, even where no power was read
    unavailable: str | None = None
