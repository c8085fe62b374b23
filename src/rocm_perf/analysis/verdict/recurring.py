"""Idle time that recurs: that of the judged part without pauses and first uses, by cause, as one GPU has it."""

from __future__ import annotations

from collections import Counter

from rocm_perf.analysis.idle.gap_findings import allocations
from rocm_perf.analysis.idle.pauses import paused_causes, without_pauses
from rocm_perf.model.document import Document

ALLOCATION = "allocation"
_FEWEST = 20  # kernels: where nothing repeats, what holds back fewer says nothing about a program


def recurring_idle(document: Document) -> dict[str, int]:
    """Nanoseconds of each cause, and of allocation, a part of several, shared out over the GPUs."""
    idle: Counter[str] = Counter({row.cause: row.total_ns for row in document.gaps.causes})
    for call in allocations(document.gaps):
        idle.subtract({call.cause: call.total_ns, ALLOCATION: -call.total_ns})
    idle.subtract(paused_causes(document) | _first_uses(document))  # a pause is often a first use itself
    gpus = max(len(document.devices), 1)
    return {cause: spent // gpus for cause, spent in idle.items() if spent > 0}


def long_pauses_ns(document: Document) -> int:
    """The part of it in which the host was in no call and no operator for so long that it did not prepare a launch."""
    return without_pauses(document).long.host_ns // max(len(document.devices), 1)


def too_few(document: Document) -> bool:
    """Whether nothing repeats, in so few kernels that what is between them says nothing about a program."""
    return not document.judged_steps and sum(device.dispatches for device in document.devices) < _FEWEST


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
