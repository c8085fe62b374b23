"""Collectives: how long they run, how much of that nothing else runs beside them, and which rank they wait for."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_copies, timed_dispatches, timed_pass
from rocm_perf.analysis.idle.stragglers import straggler
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.time.families import is_collective
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.communication import CollectiveTotal, Communication, Straggler
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

FORMULAS = {
    "communication.exposed_ns": "union of all kernels and copies - union of the copies and the kernels that do not "
    "communicate, over the GPUs",
    "communication.straggler": "the rank whose start is the last for at least 80 % of the time that ranks are in a "
    "collective before the last one has come; collectives matched by order, if all ranks were in them at one time",
    "communication.bandwidth": "size_bytes / duration_ns: of this rank's input, not of what crosses the links",
}
_GPU = ["node", "agent_id"]
_WORTH = 0.05  # of the windows: what exposed communication must take to be worth a word
_SHOWN = 3


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
    copies = timed_copies(trace).select(*_GPU, "start_ns", "end_ns")
    working = kernels.join(talking.select("kernel").unique(), on="kernel", how="anti").drop("kernel")
    beside = pl.concat([working, copies])
    exposed = _union(pl.concat([talking.drop("kernel"), beside])) - _union(beside)
    return Communication(
        kernels=talking.height,
        busy_ns=_union(talking),
        exposed_ns=exposed,
        exposed_share=ratio(exposed, window, "exposed_ns / window_ns", "exposed_ns", "window_ns"),
        rows=_rows(trace),
        straggler=straggler(trace),
        largest_group=trace.table("collectives")["group_size"].max(),  # type: ignore[arg-type]
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
    """Findings about communication that nothing hides: a rank that is always late, or the communication itself."""
    result, wall_ns = document.communication, document.wall_ns
    share = result.exposed_share.value
    if not wall_ns or share is None or result.largest_group == 1:
        return []
    late = result.straggler
    if late is not None and late.waits[-1].waited_ns >= _WORTH * wall_ns:
        return [_late_rank(late, wall_ns)]
    return [_exposed(result, share, document)] if share >= _WORTH else []


def _late_rank(late: Straggler, wall_ns: int) -> Finding:
    """The rank that the others wait for. At stake is what the last but one would win."""
    stake = late.waits[-1].waited_ns
    waits = ", ".join(f"{row.rank} {format_ns(row.waited_ns)}" for row in late.waits[:_SHOWN])
    more = f" and {format_count(len(late.waits) - _SHOWN, 'other')}" if len(late.waits) > _SHOWN else ""
    return Finding(
        id="late-rank",
        severity="warning",
        kind="communication",
        title=f"The other ranks wait for {late.rank}: it enters nearly every collective last",
        evidence=(
            f"{late.rank} is the last in {late.last_in:,} of {format_count(late.collectives, 'collective')}",
            f"time spent waiting for it, of {format_ns(wall_ns)}: {waits}{more}",
            f"once all have come the collectives take {format_ns(late.together_ns)}: they are not what is long",
        ),
        time_at_stake_ns=stake,
        projected_speedup=_bound(wall_ns, stake),
        remedy=f"Find out why {late.rank} is late before tuning communication: record it and another one alone, and "
        "compare their steps (input pipeline, uneven work, clocks, a shared machine).",
    )


def _exposed(result: Communication, share: float, document: Document) -> Finding:
    exposed = result.exposed_ns // max(len(document.devices), 1)
    rows = (
        f"{row.name}: {format_count(row.calls, 'call')}, {format_ns(row.total_ns)}"
        + ("" if row.size_bytes is None else f", {format_bytes(row.size_bytes)}")
        for row in result.rows[:_SHOWN]
    )
    return Finding(
        id="exposed-communication",
        severity="warning",
        kind="communication",
        title=f"For {format_share(share)} of the time a GPU does nothing but communicate",
        evidence=(
            f"{format_ns(result.exposed_ns)} of the {format_ns(result.busy_ns)} in "
            f"{format_count(result.kernels, 'collective kernel')}{_such_as(document)} have no other kernel and no "
            "copy beside them",
            *rows,
        ),
        time_at_stake_ns=exposed,
        projected_speedup=_bound(document.wall_ns or 0, exposed),
        remedy="Start collectives earlier and let them overlap (DDP buckets, FSDP prefetch, their own stream). "
        "A collective also lasts until its slowest rank has come: compare the ranks before tuning the network.",
    )


def _such_as(document: Document) -> str:
    """The kernel that communicates longest."""
    names = pl.Series([row.kernel for row in document.hotspots.rows], dtype=pl.String)
    talking = names.filter(is_collective(names))
    return f" ({short_name(talking[0])})" if talking.len() else ""


def _bound(wall_ns: int, stake_ns: int) -> Quantity:
    return Quantity(
        value=wall_ns / max(wall_ns - stake_ns, 1),
        unit="x",
        formula="wall_ns / (wall_ns - stake_ns): at most, if a GPU lost none of that time",
        inputs={"wall_ns": wall_ns, "stake_ns": stake_ns},
    )
