"""What the counts say of a kernel, as measurements that the labels of `bottleneck` rest on."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.analysis.limits.emulated_work import Loads
from rocm_perf.model.results.bottleneck import Evidence
from rocm_perf.model.results.count import Resources, Totals
from rocm_perf.units import format_count, format_share

_BUSY = 0.1  # of the time: conflicts in an LDS that is busy less explain nothing
_LDS, _LANES, _SCRATCH = "emulated LDS accesses", "emulated lanes", "emulated scratch accesses"


def emulated_evidence(totals: Totals, resources: Resources, loads: Loads) -> Iterator[Evidence]:
    """Yield bank conflicts where LDS is busy enough for them to matter, active lanes, and scratch."""
    lds = totals.lds
    if lds and lds.conflict_share is not None and loads.of("lds") >= _BUSY:
        says = f"{format_share(lds.conflict_share)} of the LDS cycles are lost to bank conflicts (emulated)"
        yield Evidence(name="lds_conflicts", value=lds.conflict_share, unit="", says=says, source=_LDS)
    if totals.active_lanes is not None:
        says = f"{format_share(totals.active_lanes)} of the lanes work in vector instructions (emulated)"
        yield Evidence(name="lanes", value=totals.active_lanes, unit="", says=says, source=_LANES)
    if any(one.space == "scratch" for one in totals.accesses):
        says = f"{resources.scratch_bytes:,} bytes of scratch per work-item, which it does access (emulated)"
        yield Evidence(name="scratch", value=resources.scratch_bytes, unit="B", says=says, source=_SCRATCH)


def empty_units(workgroups: int, units: int) -> Evidence:
    """The share of the compute units that the grid leaves without a workgroup."""
    share = max(0.0, 1 - workgroups / units)
    counts = f"{format_count(workgroups, 'workgroup')} for {units:,} compute units"
    says = f"{counts}: {format_share(share)} stay empty" if share else f"{counts}: all have work"
    return Evidence(name="empty_units", value=share, unit="", says=says, source="grid")
