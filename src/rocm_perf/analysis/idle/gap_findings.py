"""What idle time says: a finding for each large cause of it, and the range or call that explains it."""

from __future__ import annotations

import re
from collections import Counter

from msgspec.structs import replace

from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.analysis.idle.gaps import CALLS_PER_GAP
from rocm_perf.analysis.idle.pauses import without_pauses
from rocm_perf.model.calls import ALLOCATION_CALL
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.results.gaps import CallTime, CauseTime, Gaps, RangeTime
from rocm_perf.units import format_count, format_ns, format_share

# From these shares on it is worth a word.
_IDLE_SHARE = 0.05  # of the window of all GPUs
_CAUSE_SHARE = 0.2  # of the idle time
_FIRST_USE = 0.5  # of the idle time inside calls
_HOST_CAUSES = ("framework", "loading", "host_busy", "host_api")

_EXPLANATIONS: dict[str, str] = {
    "host_sync": "the host waits for it and launches late",
    "host_api": "the host is inside other calls",
    "copy": "it waits for copies",
    "framework": "the framework prepares the next kernel",
    "loading": "the host loads data",
    "host_busy": "the host does something else",
    "launch_latency": "launches arrive late",
    "event": "a stream waits for another",
    "collective": "compute waits for communication",
    "queue_gap": "gaps between queued kernels",
    "unrecorded": "it works on something that was not recorded",
    "nothing_recorded": "what launched the work after it was not recorded",
}
KINDS_OF_CAUSES: dict[str, Kind] = {
    "host_sync": "sync",
    "host_api": "host-bound",
    "copy": "copies",
    "framework": "host-bound",
    "loading": "host-bound",
    "host_busy": "host-bound",
    "launch_latency": "host-bound",
    "event": "host-bound",
    "collective": "communication",
    "queue_gap": "host-bound",
    "unrecorded": "unrecorded-work",
    "nothing_recorded": "cannot-tell",
}
_REMEDIES: dict[str, str] = {
    "host_sync": "Synchronise once, before the host reads a result, not after each launch (in PyTorch: no .item(), "
    ".cpu() or torch.cuda.synchronize() inside the loop).",
    "host_api": "Take other calls than launches out of the loop: allocate once or from a pool, load modules before; "
    "if launches dominate, use a HIP graph.",
    "copy": "Copy asynchronously from pinned memory on a stream of its own, ahead of the kernels that need the data.",
    "framework": "The host is too slow to feed the GPU: torch.compile, HIP graphs (torch.cuda.graph), larger batches.",
    "loading": "Load ahead of need: more workers, or less to do for each sample on the host.",
    "host_busy": "The program does something else between launches: record ranges (roctx) around its parts to see "
    "what, or let another thread do it.",
    "launch_latency": "Launch ahead of need, several kernels at a time, or capture the loop into a HIP graph.",
    "event": "A stream waits for another: check whether the dependency is needed, and start the awaited work earlier.",
    "collective": "Compute waits for communication: overlap it (bucketing, prefetching in FSDP or DDP).",
    "queue_gap": "Everything was launched: a HIP graph shortens the gaps between kernels, fusion removes them.",
    "nothing_recorded": "Record the host as well: rocprofv3 --hip-trace --kernel-trace (or --sys-trace), or "
    "torch.profiler with CPU activities.",
}


def gap_findings(document: Document) -> list[Finding]:
    """One finding for each large cause of idle time, without pauses; calls in pauses are not told apart."""
    result = without_pauses(document)
    whole_ns = sum(device.window_ns for device in document.devices)
    window_ns = whole_ns - document.phases.paused_ns * len(document.devices)
    if window_ns <= 0 or result.doubt or result.idle_ns < _IDLE_SHARE * window_ns:
        return []
    large = (row for row in result.causes if row.share >= _CAUSE_SHARE and row.cause != "unrecorded")
    findings = [
        *(_finding(row, document, result, whole_ns) for row in large),
        _long_finding(result, window_ns),
        _allocation_finding(document.gaps, whole_ns),
    ]
    return [of_one_gpu(finding, document) for finding in findings if finding is not None]


def _long_finding(result: Gaps, window_ns: int) -> Finding | None:
    """The host's other work, for gaps that are too long to be the preparation of a launch."""
    long = result.long
    if long.host_ns < _IDLE_SHARE * window_ns:
        return None
    evidence = (
        f"{format_count(long.gaps, 'gap')} of a millisecond or more, in which the host is in no call and in no "
        f"operator for {format_ns(long.host_ns)}: {format_share(long.host_ns / result.idle_ns)} of the idle time"
    )
    return Finding(
        id="gap-host-elsewhere",
        severity="warning",
        title="The GPU is idle: the host does something else",
        evidence=(evidence, *_inside_ranges(result)),
        time_at_stake_ns=long.host_ns,
        remedy=_REMEDIES["host_busy"],
        kind="host-bound",
    )


def allocations(result: Gaps) -> list[CallTime]:
    """The calls that allocate or free memory in every round, longest first; those that took long once are start-up."""
    once = {(call.cause, call.call): call.total_ns for call in result.first_uses}
    calls = [
        replace(call, total_ns=call.total_ns - once.get((call.cause, call.call), 0))
        for call in result.calls
        if re.search(ALLOCATION_CALL, call.call)
    ]
    return sorted(calls, key=lambda call: -call.total_ns)


def _allocation_finding(result: Gaps, window_ns: int) -> Finding | None:
    calls = allocations(result)
    spent = sum(call.total_ns for call in calls)
    if spent < _IDLE_SHARE * window_ns:
        return None
    by_call: Counter[str] = Counter()
    for call in calls:
        by_call[call.call] += call.total_ns
    longest = by_call.most_common(CALLS_PER_GAP)
    inside = ", ".join(f"{name} {format_ns(total)}" for name, total in longest)
    return Finding(
        id="gap-allocation",
        severity="warning",
        title=f"The GPU waits while memory is allocated and freed: {', '.join(name for name, _ in longest[:2])}",
        evidence=(
            f"{format_ns(spent)} of the {format_ns(result.idle_ns)} idle are inside such calls: {inside}",
            "freeing waits for the GPU, so that nothing is launched ahead",
        ),
        time_at_stake_ns=spent,
        remedy="Allocate once and reuse: in PyTorch no torch.cuda.empty_cache() in the loop, and enough memory that "
        "its allocator need not give back what it caches; elsewhere buffers made before the loop, or a pool "
        "(hipMallocAsync).",
        kind="host-bound",
    )


def _first_uses(row: CauseTime, result: Gaps) -> list[CallTime]:
    """The one-off calls that most of a cause is spent in; none where they are not most of it."""
    calls = [call for call in result.first_uses if call.cause == row.cause]
    return calls if sum(call.total_ns for call in calls) >= _FIRST_USE * row.total_ns else []


def _finding(row: CauseTime, document: Document, result: Gaps, window_ns: int) -> Finding | None:
    whole = next(one for one in document.gaps.causes if one.cause == row.cause)  # first uses may be pauses
    if row.cause == "host_api" and (calls := _first_uses(whole, document.gaps)):
        apart_ns = whole.total_ns - document.phases.paused_ns  # told as start-up
        large = apart_ns > _IDLE_SHARE * window_ns
        return _first_use_finding(whole, calls, document.gaps, apart_ns) if large else None
    calls = [call for call in result.calls if call.cause == row.cause][:CALLS_PER_GAP]
    inside = ", ".join(f"{call.call} {format_ns(call.total_ns)}" for call in calls)
    evidence = [
        f"{_EXPLANATIONS[row.cause]}: {format_ns(row.total_ns)} in {format_count(row.gaps, 'gap')}, "
        f"{format_share(row.share)} of the idle time"
    ]
    evidence += [f"inside {inside}"] if inside else []
    evidence += _inside_ranges(result) if row.cause in _HOST_CAUSES else []
    evidence += [result.not_attributed] if row.cause == "nothing_recorded" and result.not_attributed else []
    return Finding(
        id=f"gap-{row.cause.replace('_', '-')}",
        severity="info" if row.cause == "nothing_recorded" else "warning",
        title=f"The GPU is idle: {_EXPLANATIONS[row.cause]}",
        evidence=tuple(evidence),
        time_at_stake_ns=row.total_ns,
        remedy=_REMEDIES[row.cause],
        kind=KINDS_OF_CAUSES[row.cause],
    )


def _first_use_finding(row: CauseTime, calls: list[CallTime], result: Gaps, most_ns: int) -> Finding:
    spent = sum(call.total_ns for call in calls)
    longest = ", ".join(f"{call.call} {format_ns(call.total_ns)}" for call in calls[:CALLS_PER_GAP])
    return Finding(
        id="gap-first-use",
        severity="warning",
        kind="startup",
        title=f"The GPU waits for first uses: code is loaded and devices are set up inside {calls[0].call}",
        evidence=(
            f"{format_ns(spent)} of the {format_ns(result.idle_ns)} idle are inside calls that took far longer than "
            f"their function usually does, or were made a few times only: {longest}",
            f"{format_ns(row.total_ns)} of idle time inside calls in all",
        ),
        time_at_stake_ns=min(spent, most_ns),
        remedy="It happens once: run every kernel of the loop once before what is timed (a warm-up), and record after "
        "it. Where start-up itself matters, load code ahead instead of on first use.",
    )


def _inside_ranges(result: Gaps) -> list[str]:
    """The range that explains the host's part, if the program named one."""
    return [_inside(row, result) for row in result.ranges[:1]]


def _inside(row: RangeTime, result: Gaps) -> str:
    if row.in_other_threads:
        return (
            f"meanwhile other threads of the process are inside {row.name}, for {format_ns(row.idle_ns)}, and launches "
            "go on soon after its end"
        )
    return f"{format_ns(row.idle_ns)} of the {format_ns(result.idle_ns)} idle are inside {row.name}"
