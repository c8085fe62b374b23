"""What the counts point to, in the words of somebody who tunes kernels: each with its numbers, bound and remedy.

What each is worth in time is bounded by the least time that the counts allow, or by the kernel's own, where that is
given. What cannot be worth much is kept as a remark.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.analysis.limits.catalogue import remedy
from rocm_perf.analysis.limits.emulated_defects import Defect, defects
from rocm_perf.analysis.limits.emulated_work import Counts, Loads
from rocm_perf.arch.gpu import Gpu
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.results.count import Totals
from rocm_perf.units import format_bytes, format_share

ASKED_AGAIN = 8  # times that a byte is asked for
_WORTH_IT = 0.1  # of the time

_KINDS: dict[str, Kind] = {
    "bank-conflicts": "lds-or-cache",
    "uncoalesced": "kernel-memory",
    "narrow-accesses": "kernel-memory",
    "private-array": "kernel-memory",
    "spills": "kernel-memory",
    "contended-atomics": "kernel-latency-or-occupancy",
    "contended-local-atomics": "kernel-latency-or-occupancy",
    "many-atomics": "kernel-latency-or-occupancy",
    "barriers": "kernel-latency-or-occupancy",
    "dependent-arithmetic": "kernel-latency-or-occupancy",
}  # others: of arithmetic


def count_findings(totals: Totals, counts: Counts, gpu: Gpu | None, loads: Loads) -> tuple[Finding, ...]:
    """Return what stands out, what explains most first."""
    causes = [_finding(counts, defect, loads) for defect in defects(counts, gpu, loads)]
    return (*causes, *_asked_again(totals))


def _finding(counts: Counts, defect: Defect, loads: Loads) -> Finding:
    is_little = defect.saves is not None and defect.saves < _WORTH_IT
    return Finding(
        id=defect.id,
        severity="info" if is_little else "warning",
        title=defect.title[0].upper() + defect.title[1:],
        evidence=(*defect.evidence, _bound(defect, loads)),
        remedy=remedy(defect.id, counts.kernel),
        kind=_KINDS.get(defect.id, "kernel-compute"),
    )


def _bound(defect: Defect, loads: Loads) -> str:
    """Say what removing it saves at most."""
    of_what = "of its time" if loads.is_timed else "of the least time that the counts allow"
    if defect.id == "uncoalesced" and not loads.is_timed and defect.saves:
        of_what = "of the time that it takes if no cache serves the lines"
    if defect.saves is None:
        return "how much time it costs, counts alone do not say"
    if not defect.saves:
        return "removing it saves nothing while another unit takes as long"
    return f"removing it saves at most {format_share(defect.saves)} {of_what}"


def _asked_again(totals: Totals) -> Iterator[Finding]:
    footprint = totals.footprint
    if footprint is None or not footprint.compulsory_bytes:
        return
    asked = sum(one.bytes for one in totals.accesses if one.space == "global")
    times = asked / footprint.compulsory_bytes
    if times < ASKED_AGAIN:
        return
    yield Finding(
        id="reuse-left-to-caches",
        severity="info",
        title=f"Each byte is asked for {times:.3g} times: the caches have to serve all but the first",
        evidence=(
            f"{format_bytes(asked)} are asked for, {format_bytes(footprint.compulsory_bytes)} have to move; how much "
            "the caches serve is not known here",
        ),
        remedy="Keep what is reused in registers or LDS: tile the loops, or let a work-item compute more.",
        kind="kernel-memory",
    )
