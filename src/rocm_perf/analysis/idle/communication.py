"""Collectives: how long they run, and how much of that nothing else runs beside them."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.time.families import is_collective
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.communication import CollectiveTotal, Communication
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

FORMULAS = {
    "communication.exposed_ns": "union of all kernels - union of the kernels that do not communicate, over the GPUs",
    "communication.bandwidth": "size_bytes / duration_ns: of this rank's input, not of what crosses the links",
}
_GPU = ["node", "agent_id"]
_WORTH = 0.05  # of the windows: what exposed communication must take to be worth a word


def communication(trace: Trace) -> Communication:
    """Collective kernels by their names, and the collectives that the recorder describes."""
    kernels = timed_dispatches(trace).select(*_GPU, "kernel", "start_ns", "end_ns")
    talking = kernels.filter(is_collective(kernels["kernel"]))
    window = sum(device.window_ns for device in device_times(trace))
    if not talking.height:
        why = "no kernel that communicates was recorded"
        share = unavailable("", "exposed_ns / window_ns", why)
        return Communication(
            kernels=0, busy_ns=0, exposed_ns=0, exposed_share=share, rows=_rows(trace), unavailable=why
        )
    working = kernels.join(talking.select("kernel").unique(), on="kernel", how="anti")
    exposed = _union(kernels) - _union(working)
    return Communication(
        kernels=talking.height,
        busy_ns=_union(talking),
        exposed_ns=exposed,
        exposed_share=ratio(exposed, window, "exposed_ns / window_ns", "exposed_ns", "window_ns"),
        rows=_rows(trace),
    )


def _union(kernels: pl.DataFrame) -> int:
    return int(union_ns(kernels, _GPU)["union_ns"].sum())


def _rows(trace: Trace) -> tuple[CollectiveTotal, ...]:
    usable = (pl.col("pass_id") == (timed_pass(trace) or 0)) & (pl.col("end_ns") >= pl.col("start_ns"))
    totals = (
        trace.lazy("collectives")
        .filter(usable)
        .with_columns(ns=pl.col("end_ns") - pl.col("start_ns"))
        .group_by("name", "group")
        .agg(
            calls=pl.len().cast(pl.Int64),
            total_ns=pl.col("ns").sum(),
            size_bytes=pl.when(pl.col("size_bytes").count() > 0).then(pl.col("size_bytes").sum()),
            sized_ns=pl.col("ns").filter(pl.col("size_bytes").is_not_null()).sum(),
        )
        .sort("total_ns", "name", descending=[True, False])
        .collect()
    )
    return tuple(
        CollectiveTotal(
            name=name,
            group=group,
            calls=calls,
            total_ns=total,
            size_bytes=size,
            bandwidth=_bandwidth(size, sized),
        )
        for name, group, calls, total, size, sized in totals.iter_rows()
    )


def _bandwidth(size: int | None, spent: int) -> Quantity:
    formula = "size_bytes / duration_ns"
    if size is None or not spent:
        return unavailable("GB/s", formula, "this recording does not say how many bytes were sent")
    return Quantity(
        value=size / spent, unit="GB/s", formula=formula, inputs={"size_bytes": size, "duration_ns": spent}
    )


def communication_findings(document: Document) -> list[Finding]:
    """Findings about communication that no other kernel hides."""
    result, wall_ns = document.communication, document.wall_ns
    share = result.exposed_share.value
    if not wall_ns or share is None or share < _WORTH:
        return []
    exposed = result.exposed_ns // max(len(document.devices), 1)
    least = max(wall_ns - exposed, 1)
    rows = (
        f"{row.name}: {format_count(row.calls, 'call')}, {format_ns(row.total_ns)}"
        + ("" if row.size_bytes is None else f", {format_bytes(row.size_bytes)}")
        for row in result.rows[:3]
    )
    return [
        Finding(
            id="exposed-communication",
            severity="warning",
            title=f"For {format_share(share)} of the time a GPU does nothing but communicate",
            evidence=(
                f"{format_ns(result.exposed_ns)} of the {format_ns(result.busy_ns)} in "
                f"{format_count(result.kernels, 'collective kernel')} have no other kernel beside them",
                *rows,
            ),
            time_at_stake_ns=exposed,
            projected_speedup=Quantity(
                value=wall_ns / least,
                unit="x",
                formula="wall_ns / (wall_ns - exposed_ns of a GPU): "
                "at most, if all of it were hidden behind other kernels",
                inputs={"wall_ns": wall_ns, "exposed_ns": exposed},
            ),
            remedy="Start collectives earlier and let them overlap (DDP buckets, FSDP prefetch, their own stream). "
            "A collective also lasts until its slowest rank has come: compare the ranks before tuning the network.",
        )
    ]
