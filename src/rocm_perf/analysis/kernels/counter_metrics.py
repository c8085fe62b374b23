"""Metrics of every kernel from the counters that were recorded, on the GPU that they were recorded on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from rocm_perf.analysis.basis.counters_refused import no_counters_for
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.kernels.indicators import indicators
from rocm_perf.analysis.roofline.counted import metric_tables
from rocm_perf.analysis.roofline.devices import Device, devices
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metric_inputs import formula_names
from rocm_perf.arch.metrics import MetricTable, by_kernel
from rocm_perf.model.results.metrics import KernelMetric, Metrics
from rocm_perf.model.trace import Trace

NO_COUNTERS = "no counters were recorded"
_SHOWN = "rocm-perf list-counters --arch GFX --plan memory_bound shows how to"
_FIRST = (
    "dram_gbps",
    "tflops",
    "achieved_occupancy",
    "l2_hit_rate",
    "mfma_busy",
    "valu_busy",
    "lds_conflict_rate",
    "wait_share",
)
_AMOUNTS = ("B", "FLOP", "OP", "instructions", "waves")  # more work, not better or worse


def counter_metrics(trace: Trace) -> Metrics:
    """All metrics that the recorded counters give, the kernels with most time first."""
    if not trace.has("counters"):
        why = no_counters_for(trace) or _SHOWN
        return Metrics((), {}, unavailable=f"{NO_COUNTERS} ({why})")
    known = devices(trace)
    tables = metric_tables(trace, known, frozenset(metrics()))
    evaluated = [(device, table) for device, table in zip(known, tables, strict=True) if table is not None]
    if not evaluated:
        return Metrics(
            (), {}, unavailable=known[-1].reason or "the GPU of the counters is not in the catalogue"
        )
    order = {spot.kernel: place for place, spot in enumerate(hotspots(trace).rows)}
    rows = [row for device, table in evaluated for row in _rows(device, table)]
    rows.sort(key=lambda row: (order.get(row.kernel, len(order)), _standing(row)))
    missing = {name: why for _, table in evaluated for name, why in table.unavailable.items()}
    valued = _valued(rows)
    return Metrics(
        tuple(rows),
        {name: why for name, why in missing.items() if name not in valued},
        counters=_used(trace, [table for _, table in evaluated], valued),
        indicators=indicators(rows, known),
    )


def _used(trace: Trace, tables: Sequence[MetricTable], valued: set[str]) -> tuple[str, ...]:
    """The recorded counters from which a metric has its values."""
    inputs = {
        name
        for table in tables
        for metric, evaluation in table.evaluations.items()
        if metric in valued
        for name in evaluation.inputs
    }
    recorded = trace.lazy("counters").select(pl.col("counter").unique().sort()).collect().to_series()
    return tuple(name for name in recorded if formula_names([name]) & inputs)


def kernel_metric(trace: Trace, name: str) -> dict[str, KernelMetric]:
    """One metric of every kernel that the recorded counters give it for."""
    known = devices(trace) if trace.has("counters") else ()
    tables = metric_tables(trace, known, frozenset((name,)))
    pairs = zip(known, tables, strict=True)
    return {row.kernel: row for device, table in pairs if table is not None for row in _rows(device, table)}


def _rows(device: Device, table: MetricTable) -> Iterator[KernelMetric]:
    """The metrics of each kernel, without those that need the size of a product that is not known."""
    known = metrics()
    for row in by_kernel(table).iter_rows(named=True):
        name = row["metric"]
        if device.serves(table.evaluations[name].constants):
            yield KernelMetric(
                short_name=short_name(row["kernel"]), gpu=device.name, title=known[name].title, **row
            )


def _standing(row: KernelMetric) -> tuple[int, bool, int]:
    """What is asked first comes first; then rates and shares, then the amounts that they are made of, each in the order
    of the metrics' files."""
    first = _FIRST.index(row.metric) if row.metric in _FIRST else len(_FIRST)
    return first, row.unit in _AMOUNTS, list(metrics()).index(row.metric)


def _valued(rows: Sequence[KernelMetric]) -> set[str]:
    return {row.metric for row in rows}
