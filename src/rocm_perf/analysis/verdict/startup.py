"""Start-up: what a program does once. It is the first finding only where the recording holds little else."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.intervals import total_union_ns
from rocm_perf.analysis.basis.launched import launched_work, timed_calls
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.idle.first_calls import startup_calls
from rocm_perf.analysis.verdict.recurring import kernel_share_of_rest
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

_CALLS = 3
_MUCH = 0.01  # of the start-up: calls that take less explain nothing
_LARGE = 0.5  # of the recording
_WORKING = 0.5  # of the rest in kernels: then that work is worth judging, however long start-up was


def one_off_ns(document: Document) -> int:
    """Time before the judged part without earlier steps like its own, and pauses within it."""
    phases = document.phases
    parts = [phase.duration_ns for phase in phases.rows if phase.name in ("before", "start-up")]
    return sum(parts) - phases.other_steps_ns + phases.paused_ns


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
    first = startup_calls(whole)[:_CALLS]
    calls = [f"{call.name} {format_ns(call.total_ns)}" for call in first]
    is_much = sum(call.total_ns for call in first) >= _MUCH * one_off_ns(document)
    lines = [f"calls that took long once: {', '.join(calls)}"] if calls and is_much else []
    lines += _until_the_steps(document, whole)
    if before is not None:
        lines.append(f"{format_ns(before.duration_ns)} before the first GPU work")
    lines += [
        f"{format_ns(pause.duration_ns)} of pause before the first {short_name(pause.after)}"
        for pause in sorted(document.phases.pauses, key=lambda pause: -pause.duration_ns)[:2]
    ]
    if not document.phases.steps:
        busiest = max((device.busy_ns for device in document.devices), default=0)
        lines.append(f"the GPU works {format_ns(busiest)} in all")
    if not document.launches.functions:
        lines.append("what the host did was not recorded")
    return lines


def _until_the_steps(document: Document, whole: Trace) -> list[str]:
    """What the GPU and the host do before the first step of the steady state."""
    phase = document.phases.phase("start-up")
    if phase is None or not document.phases.steps:
        return []
    early = pl.col("start_ns") < document.phases.origin_ns + phase.end_ns
    work = launched_work(whole).filter(early)
    count = format_count(int((work["kind"] == "kernel").sum()), "kernel")
    worked = format_ns(total_union_ns(work))
    told = f"until the steps the GPU works {worked} of {format_ns(phase.duration_ns)}, in {count}"
    if document.phases.other_steps_ns:
        told = (
            f"{format_ns(document.phases.other_steps_ns)} before the steady state are steps as well; {told}"
        )
    calls = timed_calls(whole).filter(early)
    outside = phase.duration_ns - total_union_ns(calls)
    if calls.height and outside > _LARGE * phase.duration_ns:
        told += f", and for {format_ns(outside)} the host is in no recorded call (it may compile or prepare input)"
    return [told]


def _remedy(document: Document) -> str:
    if document.phases.steps:
        return "It is paid once: shorten it only if the program is started often."
    return (
        "Nothing repeats here, so this says little about steady speed: warm up first, then record several iterations "
        "(rocm-perf profile --steps 3..13, or --delay)."
    )
