"""When nothing is left to gain: the GPU works nearly all the time, near what it can give."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.verdict.themes import too_few
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.units import format_share

_MOSTLY = 0.5  # of the time: a GPU that works less has something to gain, whatever the remedy

_LARGE = 0.05  # of the judged time: a finding that is worth this much is something to gain
_NEARLY_ALL = 0.9  # of the time of a few kernels


def nothing_to_gain(findings: Sequence[Finding], document: Document) -> list[Finding]:
    """Return one finding that says so, if the worth of every other finding is known and small."""
    judged = document.judged_ns
    stakes = [finding.time_at_stake_ns for finding in findings if finding.kind != "memory"]
    if not stakes or not judged or any(stake is None or stake >= _LARGE * judged for stake in stakes):
        return []
    busy = max((device.busy_ns for device in document.devices), default=0)
    if busy < (_NEARLY_ALL if too_few(document) else _MOSTLY) * judged:
        return []
    return [
        Finding(
            id="nothing-to-gain",
            severity="info",
            kind="nothing-to-gain",
            title=f"Nothing large is left to gain: the GPU works {format_share(busy / judged)} of the time, and its "
            "kernels are near what they can reach",
            evidence=tuple(finding.title for finding in findings[:2]),
            remedy="Faster only by doing less: another algorithm, a narrower data type, or more GPUs.",
        )
    ]
