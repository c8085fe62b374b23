"""Which finding comes first."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.verdict.recurring import judged_ns
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind

KERNEL_KINDS: tuple[Kind, ...] = (
    "kernel",
    "kernel-memory",
    "kernel-compute",
    "kernel-latency-or-occupancy",
    "lds-or-cache",
)
# What nobody measured counts, for the order alone, as if a third of it could go: kernels whose roof is unknown, and
# idle time whose cause is.
UNKNOWN = 1 / 3
_UNSURE: tuple[Kind, ...] = ("cannot-tell", "unrecorded-work")


def ranked(findings: Sequence[Finding], document: Document) -> list[Finding]:
    """Kernels come first if they hold more than any other finding is worth; else the finding worth most does."""
    kernels = [finding for finding in findings if finding.kind in KERNEL_KINDS]
    others = sorted(
        (finding for finding in findings if finding.kind not in KERNEL_KINDS),
        key=lambda finding: -_weight(finding),
    )
    first = kernels[:1] if kernels and kernel_weight(kernels, document) >= _weight_of(others) else []
    rest = sorted([*others, *kernels[len(first) :]], key=lambda finding: -_weight(finding))
    return [*first, *rest]


def kernel_weight(kernels: Sequence[Finding], document: Document) -> float:
    """What better kernels are worth together; where one of them has no known worth, a third of the kernel time."""
    known = max((finding.time_at_stake_ns or 0 for finding in kernels), default=0)
    if all(finding.time_at_stake_ns is not None for finding in kernels):
        return known
    gpus = max(len(document.devices), 1)
    spent = sum(device.kernel_ns for device in document.devices) - document.communication.exposed_ns
    return max(known, UNKNOWN * min(spent / gpus, judged_ns(document)))


def _weight(finding: Finding) -> float:
    stake = finding.time_at_stake_ns or 0
    return stake * UNKNOWN if finding.kind in _UNSURE else stake


def _weight_of(findings: Sequence[Finding]) -> float:
    return max(map(_weight, findings), default=0.0)
