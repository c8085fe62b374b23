"""Where the time of all parts went: GPUs, kernels, families, calls of the host, copies, waits and launches."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rocm_perf.analysis.parts.adding import added, as_one, pooled
from rocm_perf.model.quantity import ratio
from rocm_perf.model.results.kernels import Families
from rocm_perf.model.results.launches import Launches
from rocm_perf.model.results.sync import Sync
from rocm_perf.model.results.times import CopyTotal, DeviceTime, DomainTotal, Hotspot, Hotspots

_WAITING = ("total_ns", "calls", "useful_ns", "lost_ns")


def all_devices(parts: Sequence[Sequence[DeviceTime]]) -> tuple[DeviceTime, ...]:
    """Each GPU, queue or stream over all parts; time between two parts counts in neither."""
    numbers = ("busy_ns", "dispatches", "copies", "window_ns", "kernel_ns", "copy_ns", "idle_ns")
    rows = added(parts, ("node", "agent_id", "queue_id", "stream_id"), numbers)
    return tuple(
        replace(row, busy=ratio(row.busy_ns, row.window_ns, row.busy.formula, "busy_ns", "window_ns"))
        for row in rows
    )


def all_hotspots(parts: Sequence[Hotspots]) -> Hotspots:
    """Every kernel over all parts; its median is that of the part with most of its time, its durations are not kept."""
    total = sum(part.total_ns for part in parts)
    rows = added([part.rows for part in parts], ("kernel",), ("total_ns", "calls"))
    lows: dict[str, int] = {}
    highs: dict[str, int] = {}
    for row in (row for part in parts for row in part.rows):
        if row.min_ns is not None and row.max_ns is not None:
            lows[row.kernel] = min(row.min_ns, lows.get(row.kernel, row.min_ns))
            highs[row.kernel] = max(row.max_ns, highs.get(row.kernel, row.max_ns))

    def whole(row: Hotspot) -> Hotspot:
        return replace(
            row,
            mean_ns=row.total_ns / row.calls if row.calls else 0.0,
            min_ns=lows.get(row.kernel),
            max_ns=highs.get(row.kernel),
            share=row.total_ns / total if total else 0.0,
            durations=None,
        )

    largest = max(parts, key=lambda part: part.total_ns)
    return replace(
        largest,
        rows=tuple(whole(row) for row in rows),
        kernels=len(rows),
        dispatches=sum(part.dispatches for part in parts),
        total_ns=total,
    )


def all_families(parts: Sequence[Families]) -> Families:
    """Kernel time by family over all parts."""
    rows = added([part.rows for part in parts], ("family",), ("total_ns", "calls"))
    total = sum(row.total_ns for row in rows)
    return replace(
        max(parts, key=lambda part: len(part.rows)),
        rows=tuple(replace(row, share=row.total_ns / total if total else 0.0) for row in rows),
        gemm_share=pooled([part.gemm_share for part in parts]),
        unclassified_share=pooled([part.unclassified_share for part in parts]),
        fused_saving_ns=sum(part.fused_saving_ns or 0 for part in parts),
    )


def all_domains(parts: Sequence[Sequence[DomainTotal]]) -> tuple[DomainTotal, ...]:
    """Each kind of host activity over all parts; the busiest function is that of the part with most of it."""
    return added(parts, ("domain",), ("union_ns", "total_ns", "calls", "busiest_ns"))


def all_copies(parts: Sequence[Sequence[CopyTotal]]) -> tuple[CopyTotal, ...]:
    """Each direction of copies over all parts."""
    rows = added(parts, ("kind",), ("total_ns", "copies", "size_bytes"))
    bandwidths = {
        row.kind: pooled([copy.bandwidth for part in parts for copy in part if copy.kind == row.kind])
        for row in rows
    }
    return tuple(replace(row, bandwidth=bandwidths[row.kind]) for row in rows)


def all_waiting(parts: Sequence[Sync]) -> Sync:
    """Waiting of the host over all parts."""
    rows = {
        field: added([getattr(part, field) for part in parts], ("name",), _WAITING)
        for field in ("scopes", "functions", "threads", "operators")
    }
    return replace(
        max(parts, key=lambda part: part.total.total_ns),
        total=as_one([part.total for part in parts], _WAITING),
        blocking_copies=as_one([part.blocking_copies for part in parts], _WAITING),
        share=pooled([part.share for part in parts]),
        lost_share=pooled([part.lost_share for part in parts]),
        **rows,
    )


def all_launches(parts: Sequence[Launches]) -> Launches:
    """Launches over all parts; medians are those of the part with most of the calls."""
    numbers = ("call_total_ns", "dispatches", "calls", "delay_total_ns", "began_early")
    functions = added(
        [part.functions for part in parts], ("domain", "name"), ("total_ns", "calls", "union_ns")
    )
    shares = {
        (row.domain, row.name): pooled(
            [
                one.share
                for part in parts
                for one in part.functions
                if (one.domain, one.name) == (row.domain, row.name)
            ]
        )
        for row in functions
    }
    graphs = [part.graphs for part in parts if part.graphs]
    return replace(
        as_one(parts, ("call_ns", "calls", "not_paired", "one_off_calls", "one_off_ns")),
        kernels=added([part.kernels for part in parts], ("kernel",), numbers),
        functions=tuple(
            replace(row, mean_ns=row.total_ns / row.calls, share=shares[row.domain, row.name])
            for row in functions
        ),
        graphs=as_one(graphs, ("call_total_ns", "calls", "dispatches")) if graphs else None,
    )
