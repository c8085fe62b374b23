"""Communication between GPUs: how long, how much of it nothing else runs beside, how fast, and between whom."""

from __future__ import annotations

from functools import partial

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.collectives.calls import GPU, calls, working
from rocm_perf.analysis.collectives.links import link_of
from rocm_perf.analysis.collectives.pace import FAR, LATENCY_NS
from rocm_perf.analysis.collectives.totals import totals
from rocm_perf.analysis.collectives.traffic import traffic
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.time.kernel_family import is_collective
from rocm_perf.model.quantity import ratio, unavailable
from rocm_perf.model.results.communication import Communication
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns

FORMULAS = {
    "communication.exposed_ns": "union of all kernels and copies - union of the copies and the kernels that do not "
    "communicate, over the GPUs",
    "communication.rows.exposed_ns": "time of its calls less what other kernels and copies of the GPU cover of it; "
    "calls that overlap each count theirs",
    "communication.rows.transfer_ns": "median over the calls of the shortest time over their ranks, where ranks are "
    "matched; else of the time that this rank was in them, waiting for others included",
    "communication.rows.bandwidth": "message_bytes / transfer_ns over the calls whose size is known; a message is the "
    "larger of a rank's input and output, of a gathering all inputs",
    "communication.rows.bus_bandwidth": "bandwidth x the factor of nccl-tests: all_reduce 2 (n - 1) / n; all_gather, "
    "reduce_scatter, all_to_all, gather, scatter (n - 1) / n; broadcast, reduce, send, recv 1",
    "communication.rows.pace": f"slow: the transfer takes more than {FAR} times as long as the links need for its "
    f"bytes and {format_ns(LATENCY_NS)} beside; waiting: even over 1 GB/s; link: at least half of what the links "
    "allow; latency: the links need next to nothing; mixed: in between",
}


def communication(trace: Trace, link_gbps: float | None = None) -> Communication:
    """The kernels that communicate, and every collective that is known. `link_gbps`: what each GPU can send, where the
    user states it."""
    kernels = timed_by_kernel(trace).select(*GPU, "kernel", "start_ns", "end_ns")
    talking = kernels.filter(is_collective(kernels["kernel"])).drop("kernel")
    collectives = calls(trace)
    rows = totals(collectives, partial(link_of, trace, stated_gbps=link_gbps))
    if not talking.height:
        why = _nothing(trace)
        share = unavailable("", "exposed_ns / window_ns", why)
        return Communication(
            kernels=0, busy_ns=0, exposed_ns=0, exposed_share=share, rows=rows, unavailable=why
        )
    window = sum(device.window_ns for device in device_times(trace))
    beside = working(trace)
    exposed = _union(pl.concat([talking, beside])) - _union(beside)
    return Communication(
        kernels=talking.height,
        busy_ns=_union(talking),
        exposed_ns=exposed,
        exposed_share=ratio(exposed, window, "exposed_ns / window_ns", "exposed_ns", "window_ns"),
        rows=rows,
        traffic=traffic(collectives),
        largest_group=collectives["group_size"].max(),  # type: ignore[arg-type]
    )


def _nothing(trace: Trace) -> str:
    """Why there is no communication to speak of."""
    called = trace.lazy("api_calls").filter(pl.col("domain") == "rccl").head(1).collect().height
    if called:
        return "calls of RCCL were recorded, but not the kernels that carry them out: record those too (--kernel-trace)"
    return "no kernel that communicates was recorded"


def _union(kernels: pl.DataFrame) -> int:
    return int(union_ns(kernels, GPU)["union_ns"].sum())
