"""Which finding comes first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.analysis.verdict.themes import IDLE, THEMES
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
TUNED = 1 / 5  # of the products of a vendor's library
_UNSURE: tuple[Kind, ...] = ("cannot-tell", "unrecorded-work")
# Links of the critical path that kernels make: their own time, and the wait for room that others leave.
_KERNEL_LINKS = ("kernel", "room_wait")
# One rank unlike its equals is a fault: it comes before what may be worth more, but which nobody timed again, for that
# is of all ranks, who wait.
FAULTS = ("late-rank", "slow-link")


def ranked(findings: Sequence[Finding], document: Document) -> list[Finding]:
    """Kernels come first if they hold more than any other finding is worth; else the finding worth most does. A fault
    of one rank comes before both, unless what leads them saves more: a third of what nobody timed again counts."""
    order = _by_worth(findings, document)
    faults = [finding for finding in order if finding.id in FAULTS]
    if not faults:
        return order
    least = max(finding.time_at_stake_ns or 0 for finding in faults)
    others = [finding for finding in order if finding not in faults]
    ahead = list(takewhile(lambda finding: _sure_ns(finding) > least, others))
    return [*ahead, *faults, *others[len(ahead) :]]


def _sure_ns(finding: Finding) -> float:
    """What the finding saves; a part of it where that is a bound, or nobody knows."""
    gain, stake = finding.projected_speedup, finding.time_at_stake_ns or 0
    return stake if gain is not None and "at most" not in gain.formula else UNKNOWN * stake


def that_save_something(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those about kernels whose worth is known to be nothing, beside any that is about something
    else: the time lies there."""
    others = [finding for finding in findings if finding.kind not in KERNEL_KINDS]
    return [one for one in findings if not others or one in others or one.time_at_stake_ns != 0]


def _idle_leader(findings: Sequence[Finding], document: Document) -> Finding | None:
    """Return the finding about the entry that holds more than half of the idle time, if there is one: it comes before
    all others about idle time. Of several that could remove it, the one that saves most."""
    ledger = document.ledger
    largest = next((entry for entry in ledger.entries if entry.kind == "idle"), None)
    if largest is None or 2 * largest.total_ns <= ledger.idle_ns:
        return None
    about = {theme.id for theme in THEMES if largest in theme.claimed(ledger, retimed=True)}
    return max((one for one in findings if one.id in about), key=_weight, default=None)


def _by_worth(findings: Sequence[Finding], document: Document) -> list[Finding]:
    kernels = [finding for finding in findings if finding.kind in KERNEL_KINDS]
    others = sorted(
        (finding for finding in findings if finding.kind not in KERNEL_KINDS),
        key=lambda finding: -_weight(finding),
    )
    first = kernels[:1] if kernels and kernel_weight(kernels, document) >= _weight_of(others) else []
    rest = sorted([*others, *kernels[len(first) :]], key=lambda finding: -_weight(finding))
    leader = _idle_leader(others, document)
    if leader is not None:
        place = next(place for place, finding in enumerate(rest) if finding.id in IDLE or finding is leader)
        rest.remove(leader)
        rest.insert(place, leader)
    return [*first, *rest]


def kernel_weight(kernels: Sequence[Finding], document: Document) -> float:
    """What better kernels are worth together; where one of them has no known worth, a third of the kernel time."""
    known = max((finding.time_at_stake_ns or 0 for finding in kernels), default=0)
    if all(finding.time_at_stake_ns is not None for finding in kernels):
        return known
    gpus = max(len(document.devices), 1)
    spent = sum(device.kernel_ns for device in document.devices) - document.communication.exposed_ns
    share = _unknown_share(document) if kernels[0].kind == "kernel" else UNKNOWN
    return max(known, share * min(spent / gpus, _paced_ns(document)))


def _unknown_share(document: Document) -> float:
    """The part of the kernel time that counts where nothing is known of it: less of products, which libraries tune."""
    spots = document.hotspots.rows
    total = sum(spot.total_ns for spot in spots)
    tuned = sum(spot.total_ns for spot in spots if _is_tuned(spot.kernel))
    return UNKNOWN - (UNKNOWN - TUNED) * tuned / total if total else UNKNOWN


def _is_tuned(kernel: str) -> bool:
    kind = family(kernel)
    return kind.name == "gemm" and bool(kind.library)


def _paced_ns(document: Document) -> int:
    """The time that kernels set the pace of: that part of the critical path, for faster ones shorten nothing else. A
    host that is never seen to wait may poll for their end: then that is not known."""
    judged, path = document.judged_ns, document.path
    if document.gaps.doubt or not any(edge.kind == "sync" for edge in path.edges):
        return judged
    return min(judged, sum(path.by_kind.get(kind, 0) for kind in _KERNEL_LINKS))


def _weight(finding: Finding) -> float:
    stake = finding.time_at_stake_ns or 0
    return stake * UNKNOWN if finding.kind in _UNSURE else stake


def _weight_of(findings: Sequence[Finding]) -> float:
    return max(map(_weight, findings), default=0.0)
