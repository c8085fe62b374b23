"""What rocprof-compute's own tables say of a kernel, in the measurements that bottlenecks are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from rocm_perf.analysis.bottleneck.scratch import scratch
from rocm_perf.model.results.bottleneck import Evidence
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_share

_SOURCE = "rocprof-compute"
_Values = Mapping[tuple[str, str], float]  # by metric and statistic

_PERCENT = {
    # metric: measurement, source, what it says
    "VALU Utilization": ("vector_busy", "busy counters", "the vector units work {} of the time"),
    "MFMA Utilization": ("matrix_busy", "busy counters", "the matrix units work {} of the time"),
    "L2 Cache Hit Rate": ("l2_hit_rate", "cache counters", "{} of the L2 requests hit"),
}
_OF_PEAK = {
    "Wavefront Occupancy": ("occupancy", "wave counters", "{} of the wave slots are taken on average"),
    "VALU Active Threads": ("lanes", "lane counters", "{} of the lanes work in vector instructions"),
    "Theoretical LDS Bandwidth": ("lds_share", "LDS counters", "it reaches {} of what the LDS moves"),
    "vL1D Cache BW": ("l1_share", "cache counters", "it reaches {} of what the L1 caches move"),
}
_FABRIC = ("L2-Fabric Read BW", "L2-Fabric Write BW")


def table_evidence(trace: Trace) -> dict[str, list[Evidence]]:
    """Evidence by kernel. What the tables say of a whole workload is said of its only kernel."""
    rows = trace.table("metrics").drop_nulls(["metric", "value"])
    if not rows.height:
        return {}
    kernels = trace.table("dispatches")["kernel"].unique().to_list()
    only = kernels[0] if len(kernels) == 1 else None
    named = rows.with_columns(pl.col("kernel").fill_null(pl.lit(only, pl.String))).drop_nulls("kernel")
    return {
        str(kernel): list(_evidence(_values(group)))
        for (kernel,), group in named.group_by("kernel", maintain_order=True)
    }


def _values(rows: pl.DataFrame) -> _Values:
    """The first value of each metric and statistic: the summary tables come before those of single units."""
    first = rows.unique(["metric", "statistic"], keep="first", maintain_order=True)
    return {
        (metric, statistic or ""): value
        for metric, statistic, value in first.select("metric", "statistic", "value").iter_rows()
    }


def _evidence(values: _Values) -> Iterator[Evidence]:
    for metric, (name, source, says) in _PERCENT.items():
        percent = values.get((metric, "avg"))
        if percent is not None:
            yield from _share(name, percent / 100, source, says)
    for metric, (name, source, says) in _OF_PEAK.items():
        average, peak = values.get((metric, "avg")), values.get((metric, "peak"))
        if average is not None and peak:
            yield from _share(name, average / peak, source, says)
    yield from _memory(values)
    yield from _waits(values)
    yield from _conflicts(values)
    size = values.get(("Scratch Allocation", "avg"))
    if size:
        yield scratch(size)


def _memory(values: _Values) -> Iterator[Evidence]:
    parts = [values.get((metric, "avg")) for metric in _FABRIC]
    peak = values.get((_FABRIC[0], "peak"))
    moved = [part for part in parts if part is not None]
    if peak and len(moved) == len(_FABRIC):
        yield from _share("memory_share", sum(moved) / peak, "bytes", "it reaches {} of the memory bandwidth")


def _waits(values: _Values) -> Iterator[Evidence]:
    waits, cycles = (values.get((name, "avg")) for name in ("Dependency Wait Cycles", "Wave Cycles"))
    if waits is not None and cycles:
        says = "waves wait {} of their time for something"
        yield from _share("wait_share", waits / cycles, "wave counters", says)


def _conflicts(values: _Values) -> Iterator[Evidence]:
    """Conflict cycles for each useful cycle of the LDS, as a share of all of its cycles."""
    rate = values.get(("LDS Bank Conflicts/Access", "avg"), values.get(("Bank Conflicts/Access", "avg")))
    if rate is not None:
        says = "{} of the LDS cycles are lost to bank conflicts"
        yield from _share("lds_conflicts", rate / (1 + rate), "LDS conflict counters", says)


def _share(name: str, value: float, source: str, says: str) -> Iterator[Evidence]:
    """A share with its sentence; what is none is left out."""
    if 0 <= value <= 1:
        sentence = f"{says.format(format_share(value))} ({_SOURCE})"
        yield Evidence(name=name, value=value, unit="", says=sentence, source=source)
