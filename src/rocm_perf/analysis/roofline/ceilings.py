"""The peaks of a GPU: measured by the recording's own benchmark, else on this machine, else those of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import polars as pl

from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.matching import match
from rocm_perf.model.machine_ceilings import (
    L2_RATE,
    LDS_RATE,
    MATRIX,
    MEMORY_RATES,
    VECTOR,
    MachineCeilings,
    MeasuredGpu,
)
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.roofline import Ceiling

L2, LDS = "L2", "LDS"
RECORDING = "the machine of the recording"
_RIDGE = "peak rate / memory bandwidth"
# A measured peak outside of these shares of the catalogue's is kept and doubted.
_LOWEST, _HIGHEST = 0.4, 1.05


def ceilings(
    device: Device, recorded: pl.DataFrame, machines: Sequence[MachineCeilings] = ()
) -> dict[str, Ceiling]:
    """The ceilings of a device by name. `recorded` is the table `ceilings` of the recording; of `machines`, those with
    the same model of GPU count, the newest of them."""
    peaks = {ceiling.name: ceiling for ceiling in _of_catalogue(device)}
    for ceiling in (*_of_machine(device, machines), *_of_recording(device, recorded)):
        peaks[ceiling.name] = _beside_data_sheet(ceiling, peaks.get(ceiling.name))
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
    """Computed from the width of each bank and channel, at the highest clock; of the chips whose widths are known."""
    ghz = gpu.clock_mhz / 1000
    if gpu.lds_bank_bytes:
        rate = gpu.lds_bank_bytes * gpu.lds_banks * gpu.compute_units * ghz / 1000
        formula = f"{gpu.lds_bank_bytes} B * LDS banks * compute units * clock"
        yield _memory(LDS, rate, formula, "computed from the catalogue")
    if gpu.l2_channels and gpu.l2_channel_bytes:
        rate = gpu.l2_channel_bytes * gpu.l2_channels * ghz / 1000
        formula = f"{gpu.l2_channel_bytes} B * L2 channels * clock"
        yield _memory(L2, rate, formula, "computed from the catalogue")


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


def _of_machine(device: Device, machines: Sequence[MachineCeilings]) -> Iterator[Ceiling]:
    same = [machine for machine in machines if _is_of_model(machine.gpu, device)]
    machine = max(same, key=lambda one: one.date, default=None)
    if machine is None:
        return
    levels = {device.memory: MEMORY_RATES, L2: (L2_RATE,), LDS: (LDS_RATE,)}
    units = {rate.name: (rate.name,) for rate in machine.rates if rate.name.endswith((MATRIX, VECTOR))}
    for name, measured_as in (levels | units).items():
        rate = machine.best(*measured_as)
        if rate:
            formula = f"{rate.name}, the median of {len(rate.samples)} measurements ({rate.how})"
            yield _measured(name, Quantity(rate.value, rate.unit, formula), machine.where_and_when)


def _is_of_model(measured: MeasuredGpu, device: Device) -> bool:
    """Whether a GPU is of the model of the device; a partition is a model of its own."""
    known = match(measured.agent).gpu
    name = known.name if known else measured.name
    return (name, measured.compute_units) == (device.name, device.compute_units)


def _of_recording(device: Device, recorded: pl.DataFrame) -> Iterator[Ceiling]:
    for recorded_name, value, unit in _best(device, recorded).iter_rows():
        name = _name(recorded_name, device)
        if name:
            formula = "measured by the roofline benchmark of the recording"
            yield _measured(name, Quantity(value / 1000, unit.replace("G", "T", 1), formula), RECORDING)


def _best(device: Device, recorded: pl.DataFrame) -> pl.DataFrame:
    """The highest of the device's own measurements; where the benchmark numbers GPUs in its own way, of all."""
    agents = [agent for _, agent in device.agents]
    own = recorded.filter(pl.col("agent_id").is_in(agents))
    rows = (own if own.height else recorded).drop_nulls("value")
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


def _measured(name: str, rate: Quantity, source: str) -> Ceiling:
    compute = name.endswith((MATRIX, VECTOR))
    return Ceiling(
        name=name, kind="compute" if compute else "memory", rate=rate, measured=True, source=source
    )


def _beside_data_sheet(ceiling: Ceiling, known: Ceiling | None) -> Ceiling:
    """The measured ceiling with the rate that the catalogue has, which it replaces, and doubted where it is far off."""
    if known is None:
        return ceiling
    data_sheet = known.data_sheet if known.measured else known.rate
    doubt = _doubt(ceiling.rate, data_sheet) if data_sheet else None
    rate = msgspec.structs.replace(ceiling.rate, doubt=doubt)
    return msgspec.structs.replace(ceiling, rate=rate, data_sheet=data_sheet)


def _doubt(rate: Quantity, data_sheet: Quantity) -> str | None:
    if not rate.value or not data_sheet.value:
        return None
    share = rate.value / data_sheet.value
    if _LOWEST <= share <= _HIGHEST:
        return None
    return f"{share:.0%} of the {data_sheet.value:g} {rate.unit} that the catalogue has"


def _with_ridge(ceiling: Ceiling, memory: Ceiling | None) -> Ceiling:
    if ceiling.kind != "compute" or memory is None or not memory.rate.value or ceiling.rate.value is None:
        return ceiling
    peaks: Mapping[str, float] = {"peak": ceiling.rate.value, "bandwidth": memory.rate.value}
    unit = "FLOP/B" if ceiling.rate.unit == "TFLOP/s" else "OP/B"
    ridge = Quantity(value=ceiling.rate.value / memory.rate.value, unit=unit, formula=_RIDGE, inputs=peaks)
    return msgspec.structs.replace(ceiling, ridge=ridge)
