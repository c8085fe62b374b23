"""Idle time that recurs: that of the judged part without pauses and first uses, by cause, as one GPU has it."""

from __future__ import annotations

from collections import Counter

from rocm_perf.analysis.idle.gap_findings import allocations
from rocm_perf.analysis.idle.long_gaps import OUTSIDE_CALLS
from rocm_perf.model.document import Document

ALLOCATION = "allocation"


def recurring_idle(document: Document) -> dict[str, int]:
    """Nanoseconds of each cause, and of allocation, a part of several, shared out over the GPUs."""
    idle: Counter[str] = Counter({row.cause: row.total_ns for row in document.gaps.causes})
    for call in allocations(document.gaps):
        idle.subtract({call.cause: call.total_ns, ALLOCATION: -call.total_ns})
    idle.subtract(_in_pauses(document) | _first_uses(document))  # a pause is often a first use itself
    gpus = max(len(document.devices), 1)
    return {cause: spent // gpus for cause, spent in idle.items() if spent > 0}


def long_pauses_ns(document: Document) -> int:
    """The part of it in which the host was in no call and no operator for so long that it did not prepare a launch."""
    once = _in_pauses(document)
    gpus = max(len(document.devices), 1)
    return max(document.gaps.long.host_ns - sum(once[cause] for cause in OUTSIDE_CALLS), 0) // gpus


def kernel_share_of_rest(document: Document) -> float:
    """The part of the judged time in which the busiest GPU runs kernels."""
    rest = document.judged_ns
    return max((device.kernel_ns for device in document.devices), default=0) / rest if rest else 0.0


def _first_uses(document: Document) -> Counter[str]:
    """What of the causes lies in calls that cost that much once."""
    causes: Counter[str] = Counter()
    for call in document.gaps.first_uses:
        causes[call.cause] += call.total_ns
    return causes


def _in_pauses(document: Document) -> Counter[str]:
    """What of the causes lies in pauses. A pause of all GPUs is, or lies within, an idle time of each."""
    origin = document.phases.origin_ns
    pauses = [(pause.start_ns + origin, pause.end_ns + origin) for pause in document.phases.pauses]
    causes: Counter[str] = Counter()
    for gap in document.gaps.worst:
        if any(gap.start_ns <= since and until <= gap.end_ns for since, until in pauses):
            causes.update(gap.causes)
    return causes
