"""Start-up: what a program does once. It is the first finding only where the recording holds little else."""

from __future__ import annotations

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.idle.first_calls import startup_calls
from rocm_perf.analysis.verdict.recurring import kernel_share_of_rest
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns, format_share

_CALLS = 3
_LARGE = 0.5  # of the recording
_WORKING = 0.5  # of the rest in kernels: then that work is worth judging, however long start-up was


def one_off_ns(document: Document) -> int:
    """Time before the judged part, and pauses within it."""
    parts = [phase.duration_ns for phase in document.phases.rows if phase.name in ("before", "start-up")]
    return sum(parts) + sum(pause.duration_ns for pause in document.phases.pauses)


def is_mostly_startup(document: Document) -> bool:
    """Whether nothing repeats, most of the recording happens once, and the rest is not GPU work either."""
    phases = document.phases
    if not phases.rows or phases.steps or not document.hotspots.rows:
        return False
    return one_off_ns(document) > _LARGE * phases.wall_ns and kernel_share_of_rest(document) < _WORKING


def startup_findings(document: Document, whole: Trace) -> list[Finding]:
    """One finding where start-up is a large part of the whole recording."""
    phases, spent = document.phases, one_off_ns(document)
    if not phases.rows or not document.hotspots.rows or spent <= _LARGE * phases.wall_ns:
        return []
    wall = phases.wall_ns
    return [
        Finding(
            id="startup",
            kind="startup",
            severity="info" if phases.steps else "warning",
            title=f"{format_share(spent / wall)} of the recording happens once: {format_ns(spent)} of "
            f"{format_ns(wall)}",
            evidence=tuple(_evidence(document, whole)),
            remedy=_remedy(document),
        )
    ]


def _evidence(document: Document, whole: Trace) -> list[str]:
    before = document.phases.phase("before")
    calls = [f"{call.name} {format_ns(call.total_ns)}" for call in startup_calls(whole)[:_CALLS]]
    lines = [f"calls that took long once: {', '.join(calls)}"] if calls else []
    if before is not None:
        lines.append(f"{format_ns(before.duration_ns)} before the first GPU work")
    lines += [
        f"{format_ns(pause.duration_ns)} of pause before the first {short_name(pause.after)}"
        for pause in sorted(document.phases.pauses, key=lambda pause: -pause.duration_ns)[:2]
    ]
    busiest = max((device.busy_ns for device in document.devices), default=0)
    lines.append(f"the GPU works {format_ns(busiest)} in all")
    if not document.launches.functions:
        lines.append("what the host did was not recorded")
    return lines


def _remedy(document: Document) -> str:
    if document.phases.steps:
        return "It is paid once: shorten it only if the program is started often."
    return (
        "Nothing repeats here, so this says little about steady speed: warm up first, then record several iterations "
        "(rocm-perf profile --steps 3..13, or --delay)."
    )
