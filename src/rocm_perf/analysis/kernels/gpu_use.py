"""How kernels use the GPU: on matrix units or not, and their achieved occupancy, counted or as the recorder estimates
it from the launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.kernels.counter_metrics import kernel_metric
from rocm_perf.analysis.time.kernel_use import MATRIX_SHARE, OCCUPANCY, matrix_share, mean_occupancy
from rocm_perf.analysis.time.matrix_units import matrix_use
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.gpu_use import GpuUse, KernelUse
from rocm_perf.model.results.metrics import KernelMetric
from rocm_perf.model.trace import Trace

FORMULAS = {"gpu_use.matrix_share": MATRIX_SHARE, "gpu_use.occupancy": OCCUPANCY}
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def gpu_use(trace: Trace) -> GpuUse:
    """Every kernel of the timed pass, or why nothing is known of them."""
    dispatches = timed_dispatches(trace)
    if not dispatches.height:
        why = "the recording holds no kernels with times"
        return GpuUse(
            (), unavailable("", MATRIX_SHARE, why), unavailable("", OCCUPANCY, why), unavailable=why
        )
    table = (
        dispatches.group_by("kernel")
        .agg(
            calls=pl.len(),
            total_ns=_LENGTH.sum(),
            occupied_ns=_LENGTH.filter(pl.col("occupancy").is_not_null()).sum(),
            weighted=(_LENGTH * pl.col("occupancy")).sum(),
        )
        .sort("total_ns", "kernel", descending=[True, False])
    )
    matrix, counted = matrix_use(trace), kernel_metric(trace, "achieved_occupancy")
    total = int(table["total_ns"].sum())
    kernels = tuple(
        KernelUse(
            kernel=row["kernel"],
            short_name=short_name(row["kernel"]),
            calls=row["calls"],
            total_ns=row["total_ns"],
            share=row["total_ns"] / total if total else 0.0,
            matrix_units=matrix.get(row["kernel"]),
            occupancy=_occupancy(row, counted.get(row["kernel"])),
        )
        for row in table.iter_rows(named=True)
    )
    return GpuUse(kernels=kernels, matrix_share=_matrix_share(kernels), occupancy=_mean(kernels))


def _occupancy(row: Mapping[str, Any], counted: KernelMetric | None) -> Quantity:
    """The occupancy of a kernel: counted, or else estimated."""
    if counted is None:
        return mean_occupancy(row["weighted"], row["occupied_ns"])
    return Quantity(
        value=counted.value, unit="", formula=f"{counted.title}, by counters", doubt=counted.doubt
    )


def _matrix_share(kernels: Sequence[KernelUse]) -> Quantity:
    spent = {
        uses: sum(row.total_ns for row in kernels if row.matrix_units is uses) for uses in (True, False, None)
    }
    return matrix_share(spent[True], sum(spent.values()), spent[None])


def _mean(kernels: Sequence[KernelUse]) -> Quantity:
    known = [(row.total_ns, row.occupancy.value) for row in kernels if row.occupancy.value is not None]
    return mean_occupancy(
        sum(100 * length * value for length, value in known), sum(length for length, _ in known)
    )
