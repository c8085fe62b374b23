"""Ceilings as `rocm-perf ceilings` would have measured them."""

from __future__ import annotations

from rocm_perf.model.machine_ceilings import MachineCeilings, MeasuredGpu, MeasuredRate

MI300X = MeasuredGpu(name="AMD Instinct MI300X", gfx="gfx942", uuid="8000-1", compute_units=304)


def rate(name: str, *samples: float, unit: str = "TB/s") -> MeasuredRate:
    return MeasuredRate(name=name, unit=unit, samples=samples, how="kernels compiled by hipcc 6.4")


def measured(
    *rates: MeasuredRate, gpu: MeasuredGpu = MI300X, date: str = "2026-11-16T12:00:00Z", host: str = "node7"
) -> MachineCeilings:
    return MachineCeilings(gpu=gpu, host=host, date=date, rates=rates)
