"""Sheets about GPUs and kernels: where the time went, kernels by name and family, short ones, and their roofline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_perf.model.document import Document
from rocm_perf.model.results.communication import CollectiveTotal
from rocm_perf.model.results.kernels import FamilyTotal, Sliver
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.results.times import CopyTotal, DeviceTime, Hotspot
from rocm_perf.render.sheets.sheet import Sheet, SheetColumns, ms, scaled, sheet, us, with_shares
from rocm_perf.units import NS_PER_US

SHORT_NS = 10 * NS_PER_US  # as TraceLens draws the line

_ALL = "all GPUs"
_TOTAL = "total (us)"


class _Share(NamedTuple):
    gpu: str
    kind: str
    time_ns: int
    of_ns: int


_TIMELINE: SheetColumns[_Share] = {
    "GPU": lambda row: row.gpu,
    "type": lambda row: row.kind,
    "time ms": lambda row: ms(row.time_ns),
    "percent": lambda row: 100 * row.time_ns / row.of_ns if row.of_ns else None,
}
_KERNELS: SheetColumns[Hotspot] = {
    "Kernel name": lambda row: row.kernel,
    "short name": lambda row: row.short_name,
    "Count": lambda row: row.calls,
    _TOTAL: lambda row: us(row.total_ns),
    "mean (us)": lambda row: us(row.mean_ns),
    "median (us)": lambda row: us(row.median_ns),
    "min (us)": lambda row: us(row.min_ns),
    "max (us)": lambda row: us(row.max_ns),
}
_FAMILIES: SheetColumns[FamilyTotal] = {
    "Kernel category": lambda row: row.family,
    "Kernels": lambda row: row.kernels,
    "Count": lambda row: row.calls,
    _TOTAL: lambda row: us(row.total_ns),
    "libraries": lambda row: ", ".join(row.libraries),
}
_SEQUENCES: SheetColumns[Sliver] = {
    "Kernels in order": lambda row: " > ".join(row.kernels),
    "Count": lambda row: row.occurrences,
    "kernel time (us)": lambda row: us(row.kernel_ns),
    "gaps between (us)": lambda row: us(row.gap_ns),
    "saved by one kernel instead, at most (us)": lambda row: us(row.saving_ns),
}
_COLLECTIVES: SheetColumns[CollectiveTotal] = {
    "Collective name": lambda row: row.name,
    "Process Group": lambda row: row.group,
    "Group size": lambda row: row.group_size,
    "dtype": lambda row: row.dtype,
    "Count": lambda row: row.calls,
    "dur_sum (us)": lambda row: us(row.total_ns),
    "dur_mean (us)": lambda row: us(row.total_ns / row.calls) if row.calls else None,
    "In msg size_sum (bytes)": lambda row: row.size_bytes,
    "message size of a call, at most (bytes)": lambda row: row.message_bytes,
    "transfer_median (us)": lambda row: us(row.transfer_ns),
    "exposed_sum (us)": lambda row: us(row.exposed_ns),
    "algo bw (GB/s)": lambda row: scaled(row.bandwidth),
    "bus bw (GB/s)": lambda row: scaled(row.bus_bandwidth),
    "link (GB/s)": lambda row: scaled(row.link),
    "pace": lambda row: row.pace,
}
_COPIES: SheetColumns[CopyTotal] = {
    "direction": lambda row: row.kind,
    "Count": lambda row: row.copies,
    _TOTAL: lambda row: us(row.total_ns),
    "bytes": lambda row: row.size_bytes,
    "GB/s": lambda row: scaled(row.bandwidth),
}
_ROOFLINE: SheetColumns[KernelRoofline] = {
    "Kernel name": lambda row: row.kernel,
    "short name": lambda row: row.short_name,
    "Count": lambda row: row.calls,
    _TOTAL: lambda row: us(row.total_ns),
    "mean with known work (us)": lambda row: scaled(row.time_ns, 1 / NS_PER_US),
    "work known by": lambda row: row.basis,
    "GFLOPS": lambda row: scaled(row.flops, 1e-9),
    "Data Moved (MB)": lambda row: scaled(row.bytes, 1e-6),
    "FLOPS/Byte": lambda row: scaled(row.operational_intensity),
    "TFLOPS/s": lambda row: scaled(row.tflops),
    "TB/s": lambda row: scaled(row.tbytes),
    "Roofline TFLOPS/s": lambda row: scaled(row.roof),
    "Pct Roofline": lambda row: scaled(row.percent_of_roof),
    "Roofline Bound": lambda row: row.position,
    "why": lambda row: row.reason,
    "doubt": lambda row: row.flops.doubt or row.bytes.doubt or row.percent_of_roof.doubt,
}


def gpu_timeline(document: Document) -> Sheet:
    """How each GPU spent its time; communication is known for all of them together."""
    devices = document.devices
    rows = [share for device in devices for share in _device(device)]
    if document.communication.kernels:
        window = sum(device.window_ns for device in devices)
        rows.append(_Share(_ALL, "exposed_comm_time", document.communication.exposed_ns, window))
        rows.append(_Share(_ALL, "total_comm_time", document.communication.busy_ns, window))
    holds = (
        "time of a GPU; kernel_time is computation and communication, exposed is what nothing else ran beside"
    )
    return sheet("gpu_timeline", holds, rows, _TIMELINE, "no GPU work with times was recorded")


def _device(device: DeviceTime) -> Iterator[_Share]:
    times = {
        "kernel_time": device.kernel_ns,
        "exposed_memcpy_time": device.busy_ns - device.kernel_ns,
        "busy_time": device.busy_ns,
        "idle_time": device.idle_ns,
        "total_time": device.window_ns,
        "total_memcpy_time": device.copy_ns,
    }
    for kind, time_ns in times.items():
        yield _Share(device.name, kind, time_ns, device.window_ns)


def kernel_sheets(document: Document) -> Iterator[Sheet]:
    """Kernels by name, by family, the short ones, those that follow one another, collectives and copies."""
    hotspots, families = document.hotspots, document.families
    whole = hotspots.total_ns / NS_PER_US
    by_name = sheet("kernel_summary", "one kernel, by name", hotspots.rows, _KERNELS, hotspots.unavailable)
    yield with_shares(by_name, _TOTAL, whole)
    by_family = sheet(
        "kernel_summary_by_category", "kernels of one family", families.rows, _FAMILIES, families.unavailable
    )
    yield with_shares(by_family, _TOTAL, whole)
    short = [row for row in hotspots.rows if row.mean_ns < SHORT_NS]
    brief = sheet(
        "short_kernels_summary", "one kernel that takes less than 10 us on average", short, _KERNELS
    )
    yield with_shares(brief, _TOTAL, whole)
    yield sheet(
        "short_kernel_sequences",
        "short kernels that follow one another, repeatedly",
        document.slivers.rows,
        _SEQUENCES,
        document.slivers.unavailable,
    )
    communication = document.communication
    yield sheet(
        "coll_analysis",
        "collectives of one name, group, type and order of size",
        communication.rows,
        _COLLECTIVES,
        communication.unavailable,
    )
    yield sheet("memcpy_summary", "copies in one direction", document.copies, _COPIES)


def kernel_roofline(document: Document) -> Sheet:
    """Kernels beside what their GPU can reach; amounts are those of one dispatch."""
    holds = "one kernel; work and rates are means over its dispatches whose work is known"
    roofline = document.roofline
    return sheet("kernel_roofline", holds, roofline.kernels, _ROOFLINE, roofline.unavailable)
