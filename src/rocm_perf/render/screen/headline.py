"""The first lines about a run: when it does what, and what limits it."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Kind
from rocm_perf.render.sections.phases import phase_line
from rocm_perf.units import format_ns, format_share

_LIMITS: dict[Kind, str] = {
    "host-bound": "the host is the limit",
    "sync": "the host's waiting is the limit",
    "copies": "copies are the limit",
    "communication": "communication is the limit",
    "kernel": "its kernels are the limit",
    "kernel-memory": "its kernels are the limit",
    "kernel-compute": "its kernels are the limit",
    "kernel-latency-or-occupancy": "its kernels are the limit",
    "lds-or-cache": "its kernels are the limit",
    "startup": "nearly everything here happens once",
    "unrecorded-work": "the recording lacks what would explain the rest",
    "nothing-to-gain": "nothing large is left to gain",
    "cannot-tell": "the recording cannot tell more",
}


def headline(document: Document) -> Iterator[str]:
    """The phases, and how much the GPU works in the one that is judged."""
    if len(document.phases.rows) > 1 or document.phases.steps:
        yield phase_line(document.phases)
    if document.gaps.doubt:
        yield f"Kernels take {format_ns(document.hotspots.total_ns)} in all; {document.gaps.doubt}."
    elif document.devices:
        yield f"{_working(document)}{_limit(document)}."


def _working(document: Document) -> str:
    busiest = document.devices[0]
    busy, window = busiest.busy_ns, document.wall_ns or busiest.window_ns
    share = f"({format_share(busy / window)})" if window else ""
    gpu = (
        "the GPU works"
        if len(document.devices) == 1
        else f"the busiest of {len(document.devices)} GPUs works"
    )
    steps = document.judged_steps
    if steps:
        return f"In a step {gpu} {format_ns(busy / steps)} of {format_ns(window / steps)} {share}"
    return f"{gpu[0].upper()}{gpu[1:]} {format_ns(busy)} of {format_ns(window)} {share}"


def _limit(document: Document) -> str:
    kinds = [finding.kind for finding in document.findings[:1] if finding.kind]
    return f": {_LIMITS[kinds[0]]}" if kinds else ""
