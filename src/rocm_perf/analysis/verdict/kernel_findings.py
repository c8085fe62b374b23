"""Kernels that the wall time hangs on: what holds each back, and what a faster one would bring."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Bottleneck
from rocm_perf.model.results.path import KernelOnPath
from rocm_perf.units import format_count, format_ns, format_share

_KERNELS = 3
_SHARE = 0.10  # of the critical path: from here on a kernel is worth a finding of its own
_PROJECTION = "wall_ns / (wall_ns - impact_ns): every dispatch of the kernel 10 % shorter"

_REMEDIES = {
    "compute": "It runs near what its units can do: use a lower precision or a better algorithm, and check that matrix "
    "units are used.",
    "memory bandwidth": "It runs near what memory gives: fuse it with its neighbours, keep data in LDS or registers, "
    "use a narrower dtype.",
    "memory latency": "It waits for memory that is not busy: more loads in flight (unrolling, wider loads), better "
    "locality, higher occupancy.",
    "LDS": "LDS holds it back: pad or swizzle the layout against bank conflicts, move what fits into registers.",
    "occupancy": "Too few waves hide its waits: spend fewer registers or less LDS (rocm-perf kernels FILE names the "
    "step that gains a wave).",
    "launch/latency": "It is too short or too small to fill the GPU: batch it, fuse it with its neighbours, or capture "
    "the sequence into a HIP graph.",
    "divergence": "Lanes of a wave take different ways: sort or group the work, or move the branch out of the kernel.",
    "waiting": "Waves wait for one another: fewer barriers, more work between them.",
}


def kernel_findings(document: Document) -> Iterator[Finding]:
    """The kernels with the largest part of the critical path."""
    labels = {row.kernel: row for row in document.bottlenecks.kernels}
    for kernel in document.path.by_kernel[:_KERNELS]:
        if kernel.critical_path_score >= _SHARE:
            yield _finding(kernel, document.path.wall_ns, labels.get(kernel.kernel))


def _finding(kernel: KernelOnPath, wall_ns: int, held: Bottleneck | None) -> Finding:
    saved, name = kernel.impact_ns, short_name(kernel.kernel)
    label = held.label if held else None
    evidence = [
        f"{format_ns(kernel.path_ns)} of {format_ns(wall_ns)} in "
        f"{format_count(kernel.dispatches, 'dispatch', 'dispatches')}",
        f"10 % off each takes {format_ns(saved)} off the wall ({kernel.impact_basis})",
    ]
    if held is not None:
        evidence.append(f"held back by {label}: {held.reason}" if label else held.reason)
    return Finding(
        id=f"kernel-{name}",
        severity="info",
        title=f"{format_share(kernel.critical_path_score)} of the critical path is {name}",
        evidence=tuple(evidence),
        time_at_stake_ns=saved,
        projected_speedup=Quantity(
            value=wall_ns / (wall_ns - saved),
            unit="x",
            formula=_PROJECTION,
            inputs={"wall_ns": wall_ns, "impact_ns": saved},
        ),
        remedy=_REMEDIES[label] if label else "",
        next_command=next(iter(held.would_tell_more), "") if held else "",
    )
