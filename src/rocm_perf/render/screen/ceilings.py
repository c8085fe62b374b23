"""Measured ceilings in a terminal, with the data sheet beside them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rocm_perf.arch.data_sheet import data_sheet_rate
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.machine_ceilings import MachineCeilings, MeasuredRate
from rocm_perf.render.grid import GridColumn, fitted
from rocm_perf.units import format_share

_SURE_SPREAD = 0.05  # of the median: more is said beside it


def ceilings_blocks(ceilings: MachineCeilings, gpu: Gpu | None, width: int) -> Iterator[RenderableType]:
    """The GPU, a table of what it reaches, and what could not be measured."""
    name = gpu.name if gpu else ceilings.gpu.name
    yield Text(f"{name} ({ceilings.gpu.gfx}), measured on {ceilings.where_and_when}", style="bold")
    names = dict.fromkeys(rate.name for rate in ceilings.rates)
    best = [rate for rate in map(ceilings.best, names) if rate]
    yield fitted(
        [
            GridColumn("", [rate.name for rate in best], numeric=False),
            GridColumn("measured", [_number(rate.value) for rate in best], numeric=True),
            GridColumn("unit", [rate.unit for rate in best], numeric=False),
            GridColumn("data sheet", [_data_sheet_text(rate, gpu) for rate in best], numeric=True),
            GridColumn("of it", [_share(rate, gpu) for rate in best], numeric=True),
            GridColumn("from", [f"{rate.how}{_spread(rate)}" for rate in best], numeric=False),
        ],
        width,
    )
    for absent in ceilings.not_measured:
        yield Text(f"not measured: {absent.name} ({absent.reason})", style="dim")


def _data_sheet_text(rate: MeasuredRate, gpu: Gpu | None) -> str:
    value = data_sheet_rate(rate.name, gpu)
    return "" if value is None else _number(value)


def _share(rate: MeasuredRate, gpu: Gpu | None) -> str:
    value = data_sheet_rate(rate.name, gpu)
    return "" if value is None else format_share(rate.value / value)


def _spread(rate: MeasuredRate) -> str:
    low, high = min(rate.samples), max(rate.samples)
    if high - low <= _SURE_SPREAD * rate.value:
        return ""
    return f", {_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
