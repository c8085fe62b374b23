"""Shares of a peak that the profiler itself measured: Nsight Compute's speed of light, and achieved occupancy."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device, on_device
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.trace import Trace

SM = "SM throughput"
OCCUPANCY = "achieved_occupancy"
# The names of the raw page, and of the details page.
_COUNTERS = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "HBM",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "HBM",
    "DRAM Throughput": "HBM",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": SM,
    "Compute (SM) Throughput": SM,
    "Achieved Occupancy": OCCUPANCY,
}
_DISPATCH = ["node", "pid", "pass_id", "dispatch_id"]


def direct_percents(trace: Trace, known: tuple[Device, ...]) -> dict[Key, dict[str, Quantity]]:
    """Percentages by kernel and by what it is a share of, in percent; mean over the dispatches."""
    recorded = trace.table("counters").filter(pl.col("counter").is_in(list(_COUNTERS)))
    if not recorded.height:
        return {}
    names = on_device(trace.table("dispatches"), known).select(*_DISPATCH, "gpu", "kernel")
    means = (
        recorded.join(names, on=_DISPATCH, how="inner", nulls_equal=True)
        .group_by("gpu", "kernel", "counter", maintain_order=True)
        .agg(pl.col("value").mean(), pl.len().alias("dispatches"))
    )
    percents: dict[Key, dict[str, Quantity]] = {}
    for gpu, kernel, counter, value, dispatches in means.iter_rows():
        percent = _percent(counter, value, dispatches)
        percents.setdefault((gpu, kernel), {}).setdefault(_COUNTERS[counter], percent)
    return percents


def _percent(counter: str, value: float, dispatches: int) -> Quantity:
    """Percent, but occupancy as a share, as the metrics have it."""
    formula, inputs = f"{counter}, as ncu recorded it", {"dispatches": dispatches}
    doubt = f"{counter} is above 100 %" if value > 100 else None
    if _COUNTERS[counter] == OCCUPANCY:
        return Quantity(value=value / 100, unit="", formula=formula, inputs=inputs, doubt=doubt)
    return Quantity(value=value, unit="%", formula=formula, inputs=inputs, doubt=doubt)
