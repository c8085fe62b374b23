"""The peaks of a GPU: measured where the recording has them, else those of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import polars as pl

from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.roofline import Ceiling

MATRIX, VECTOR = " matrix", " vector"
L2, LDS = "L2", "LDS"
_RIDGE = "peak rate / memory bandwidth"
# A measured peak outside of these shares of the catalogue's is kept and doubted.
_LOWEST, _HIGHEST = 0.4, 1.05

# Each LDS bank serves 4 B a clock; each L2 channel 128 B (AMD CDNA 2 and CDNA 3 white papers).
_BANK_BYTES = 4
_CHANNEL_BYTES = 128
_WIDE_L2 = ("gfx90a", "gfx942", "gfx950")


def ceilings(device: Device, measured: pl.DataFrame) -> dict[str, Ceiling]:
    """The ceilings of a device by name. `measured` is the table `ceilings` of the recording."""
    peaks = {ceiling.name: ceiling for ceiling in _of_catalogue(device)}
    for name, value, unit in _best(device, measured).iter_rows():
        known = _name(name, device)
        if known:
            peaks[known] = _measured(known, value / 1000, unit, peaks.get(known))
    memory = peaks.get(device.memory)
    return {name: _with_ridge(ceiling, memory) for name, ceiling in peaks.items()}


def _of_catalogue(device: Device) -> Iterator[Ceiling]:
    gpu = device.gpu
    if gpu is None:
        return
    for field, rates, unit in (("vector", gpu.vector_tflops, VECTOR), ("matrix", gpu.matrix_tflops, MATRIX)):
        for dtype, rate in rates.items():
            yield _compute(f"{dtype}{unit}", rate, _source(gpu, f"{field}_tflops.{dtype}"))
    yield _memory(device.memory, gpu.memory_gbps / 1000, "memory_gbps / 1000", _source(gpu, "memory_gbps"))
    yield from _on_chip(gpu)


def _on_chip(gpu: Gpu) -> Iterator[Ceiling]:
    """Computed from the width of each bank and channel, at the highest clock; for the chips that count such bytes."""
    if not gpu.gfx.startswith("gfx9"):
        return
    ghz = gpu.clock_mhz / 1000
    lds = _BANK_BYTES * gpu.lds_banks * gpu.compute_units * ghz / 1000
    yield _memory(LDS, lds, "4 B * LDS banks * compute units * clock", "computed from the catalogue")
    if gpu.gfx in _WIDE_L2 and gpu.l2_channels:
        rate = _CHANNEL_BYTES * gpu.l2_channels * ghz / 1000
        yield _memory(L2, rate, "128 B * L2 channels * clock", "computed from the catalogue")


def _compute(name: str, rate: float, source: str) -> Ceiling:
    unit = "TOP/s" if name.startswith("i") else "TFLOP/s"
    return Ceiling(
        name=name,
        kind="compute",
        rate=Quantity(rate, unit, "peak of the catalogue"),
        measured=False,
        source=source,
    )


def _memory(name: str, rate: float, formula: str, source: str) -> Ceiling:
    return Ceiling(
        name=name, kind="memory", rate=Quantity(rate, "TB/s", formula), measured=False, source=source
    )


def _source(gpu: Gpu, path: str) -> str:
    source = gpu.sources.get(path) or gpu.sources.get(path.split(".", maxsplit=1)[0])
    return source.title if source else "catalogue"


def _best(device: Device, measured: pl.DataFrame) -> pl.DataFrame:
    """The highest of the device's own measurements; where the benchmark numbers GPUs in its own way, of all."""
    agents = [agent for _, agent in device.agents]
    own = measured.filter(pl.col("agent_id").is_in(agents))
    rows = (own if own.height else measured).drop_nulls("value")
    return rows.group_by("ceiling", "unit", maintain_order=True).agg(pl.col("value").max()).select(
        "ceiling", "value", "unit"
    )  # fmt: skip


def _name(recorded: str, device: Device) -> str | None:
    """hbm -> HBM, mfma_f16 -> f16 matrix, fp32 -> f32 vector."""
    levels = {"hbm": device.memory, "l2": L2, "lds": LDS}
    if recorded in levels:
        return levels[recorded]
    if recorded.startswith("mfma_"):
        return recorded.removeprefix("mfma_") + MATRIX
    if recorded.startswith(("fp", "i", "bf")):
        return recorded.replace("fp", "f") + VECTOR
    return None


def _measured(name: str, rate: float, unit: str, catalogue: Ceiling | None) -> Ceiling:
    compute = name.endswith((MATRIX, VECTOR))
    shown = unit.replace("G", "T", 1)
    doubt = None
    if catalogue and catalogue.rate.value:
        share = rate / catalogue.rate.value
        if not _LOWEST <= share <= _HIGHEST:
            doubt = f"{share:.0%} of the {catalogue.rate.value:g} {shown} that the catalogue has"
    quantity = Quantity(rate, shown, "measured by the roofline benchmark of the recording", doubt=doubt)
    return Ceiling(
        name=name, kind="compute" if compute else "memory", rate=quantity, measured=True, source="recording"
    )


def _with_ridge(ceiling: Ceiling, memory: Ceiling | None) -> Ceiling:
    if ceiling.kind != "compute" or memory is None or not memory.rate.value or ceiling.rate.value is None:
        return ceiling
    peaks: Mapping[str, float] = {"peak": ceiling.rate.value, "bandwidth": memory.rate.value}
    unit = "FLOP/B" if ceiling.rate.unit == "TFLOP/s" else "OP/B"
    ridge = Quantity(value=ceiling.rate.value / memory.rate.value, unit=unit, formula=_RIDGE, inputs=peaks)
    return msgspec.structs.replace(ceiling, ridge=ridge)
