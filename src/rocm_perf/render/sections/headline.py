"""The first lines about a run: when it does what, what limits it, and what a remedy is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind, is_next_to_nothing
from rocm_perf.render.sections.phases import phase_line
from rocm_perf.render.sections.windows import windows_line
from rocm_perf.units import format_count, format_ns, format_share

_MUCH = 100  # times as fast: beyond that the number says no more than "nearly all of it"
# What one row of a table is called.
_NOUNS = {
    "dispatches": ("dispatch", "dispatches"),
    "api_calls": ("API call", "API calls"),
    "ops": ("operator call", "operator calls"),
    "copies": ("copy", "copies"),
    "scratch": ("scratch event", "scratch events"),
    "counters": ("counter value", "counter values"),
    "samples": ("row of sensor readings", "rows of sensor readings"),
    "pc_samples": ("PC sample", "PC samples"),
    "kernels": ("kernel symbol", "kernel symbols"),
    "agents": ("device", "devices"),
    "summaries": ("row of statistics", "rows of statistics"),
    "ceilings": ("measured peak", "measured peaks"),
    "counter_info": ("counter description", "counter descriptions"),
}
LIMITS: dict[Kind, str] = {
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
_LATE_END = 1.02  # of the phase: what is judged longer than that is told apart from it
# Where the kind says too little, or too much: by the id of the finding.
_LIMITS_OF: dict[str, str] = {
    "late-rank": "one rank holds the others up",
    "slow-link": "a slow link is the limit",
}
# What stands beside kernels as the limit, by the kind of the finding that says what it is worth.
_BESIDE: dict[Kind, str] = {
    "host-bound": "the gaps between them",
    "sync": "the host's waiting",
    "copies": "copies",
    "communication": "communication",
    "cannot-tell": "idle time that the recording does not explain",
    "unrecorded-work": "work that was not recorded",
}
_WORTH_NAMING = 0.2  # of the judged time: a stake this large is a limit beside the kernels
_MOST_TO_GAIN = "its kernels have the most to gain"  # of a GPU that is idle more than it works
_HALF = 0.5  # of the time
_ALONE = 0.05  # of the judged time of all GPUs: collectives with nothing beside them that are worth a word
_NEARLY_ALL = 0.95  # of the time busy: nothing but kernels is left to explain


def headline(document: Document) -> Iterator[str]:
    """The phases, and how much the GPU works in the one that is judged."""
    if samples := windows_line(document):
        yield f"{samples[0].upper()}{samples[1:]}."
    if has_phases(document):
        yield phase_line(document.phases)
    yield from limit_line(document)


def has_phases(document: Document) -> bool:
    """Whether there is more to say of phases than that there is one."""
    return len(document.phases.rows) > 1 or document.phases.steps > 0


def limit_line(document: Document) -> Iterator[str]:
    """How much the GPU works in the phase that is judged, and what keeps it from working more."""
    if document.gaps.doubt:
        yield f"{_in_all(document)}; {document.gaps.doubt}."
    elif document.devices:
        yield f"{_working(document)}{_limit(document)}."


def _in_all(document: Document) -> str:
    kernels_ns = document.hotspots.total_ns
    if kernels_ns or not document.devices:
        return f"Kernels take {format_ns(kernels_ns)} in all"
    return f"Copies take {format_ns(document.devices[0].busy_ns)} in all"


def _working(document: Document) -> str:
    work, window = work_of_gpus(document), _judged_ns(document)
    share = f" ({format_share(_busy_share(document))})" if window else ""
    steps = document.judged_steps
    each = steps or 1
    times = f"{work.gpus} {format_ns(work.busy_ns / each)} of {format_ns(window / each)}{share}"
    if work.alone_ns:
        times += f", {format_ns(work.alone_ns / each)} of it in collectives alone"
    if steps:
        return f"In a step{_beyond_the_phase(document)} {times}"
    said = f"{_apart_from_pauses(document)}{times}"
    return f"{said[0].upper()}{said[1:]}"


class WorkOfGpus(NamedTuple):
    """How long the GPUs work, of that in collectives with nothing beside them, and which GPUs are meant."""

    busy_ns: float
    alone_ns: float
    gpus: str
    formula: str


def work_of_gpus(document: Document) -> WorkOfGpus:
    """The work of the busiest GPU; of all where they communicate alone for long: the busiest may be one that waits."""
    devices, alone = document.devices, document.communication.exposed_ns
    if alone < _ALONE * _judged_ns(document) * len(devices):
        gpus = "the GPU works" if len(devices) == 1 else f"the busiest of {len(devices)} GPUs works"
        return WorkOfGpus(devices[0].busy_ns, 0, gpus, "busy_ns of the busiest GPU")
    gpus = "the GPU works" if len(devices) == 1 else f"the {len(devices)} GPUs work on average"
    busy = sum(device.busy_ns for device in devices)
    return WorkOfGpus(busy / len(devices), alone / len(devices), gpus, "mean busy_ns of the GPUs")


def _beyond_the_phase(document: Document) -> str:
    """Where work of the steps ends after their phase: that the time of a step here is longer than the phase says."""
    phase = document.phases.judged
    is_longer = phase is not None and _judged_ns(document) > _LATE_END * phase.duration_ns
    return ", up to the end of its last work," if is_longer else ""


def _apart_from_pauses(document: Document) -> str:
    pauses = document.phases.pauses
    if not pauses:
        return ""
    taken = format_ns(document.phases.paused_ns)
    said = f"a pause of {taken}" if len(pauses) == 1 else f"{len(pauses)} pauses of {taken} in all"
    return f"apart from {said}, "


def _limit(document: Document) -> str:
    first = document.findings[0] if document.findings else None
    if first is None or first.kind is None:
        return ""
    limit = _LIMITS_OF.get(first.id) or _limit_of(first.kind, _busy_share(document))
    beside = _beside_kernels(first, document) if limit == LIMITS["kernel"] else ""
    return f": {beside or limit}"


def _beside_kernels(first: Finding, document: Document) -> str:
    """What is known to be worth more than the kernels that come first; empty if nothing is."""
    known = [
        finding
        for finding in document.findings
        if finding.kind in _BESIDE and finding.time_at_stake_ns is not None
    ]
    most = max(known, key=lambda finding: finding.time_at_stake_ns or 0, default=None)
    stake, wall = (most.time_at_stake_ns or 0 if most else 0), _judged_ns(document)
    if most is None or most.kind is None or not _WORTH_NAMING * wall <= stake < wall:
        return ""
    if stake <= (first.time_at_stake_ns or 0):
        return ""
    ratio = wall / (wall - stake)
    return f"its kernels are one limit, {_BESIDE[most.kind]} another, worth {ratio:.2f} times as fast"


def _limit_of(kind: Kind, busy: float) -> str:
    if kind == "unrecorded-work" and busy >= _NEARLY_ALL:
        kind = "kernel"  # what was not recorded ran before the part that is judged
    if LIMITS[kind] == LIMITS["kernel"] and busy < _HALF:
        return _MOST_TO_GAIN
    return LIMITS[kind]


def _busy_share(document: Document) -> float:
    window = _judged_ns(document)
    return work_of_gpus(document).busy_ns / window if window else 0.0


def _judged_ns(document: Document) -> int:
    return document.judged_ns or document.devices[0].window_ns


def contents(document: Document) -> str:
    """What a recording without kernel times holds instead."""
    held = {**document.tables, "dispatches": document.coverage.dispatched}  # of one pass, not of all
    counts = [
        format_count(rows, *_NOUNS.get(name, (name.removesuffix("s"), name)))
        for name, rows in held.items()
        if rows and name not in ("nodes", "processes")
    ]
    if not counts:
        return "Nothing is recorded in it."
    return f"No kernel times here; the recording holds {', '.join(counts)}."


def ranked_findings(document: Document) -> tuple[list[Finding], list[Finding]]:
    """The findings in their order, and those about start-up, which come after the others unless one is the first."""
    later = [finding for finding in document.findings[1:] if finding.kind == "startup"]
    return [finding for finding in document.findings if finding not in later], later


def worth(finding: Finding, document: Document) -> str:
    """What the remedy saves, of each step where there are steps, and how that is known; nothing where it is next to
    nothing: the finding says why."""
    stake, steps, wall = finding.time_at_stake_ns, document.judged_steps, document.judged_ns
    if stake is None or is_next_to_nothing(stake, wall):
        return ""
    part = f"{format_ns(stake / steps)} of each step" if steps else f"{format_ns(stake)} of {format_ns(wall)}"
    basis = _basis(finding)
    known = f", {basis}" if basis else ""
    if not 0 < stake < wall:
        return f"{part}{known}"
    ratio = wall / (wall - stake)
    times = f"{ratio:.1f} times as fast" if ratio >= 1.95 else f"{ratio:.2f} times as fast"
    return f"{part} ({times if ratio < _MUCH else 'nearly all of it'}){known}"


def _basis(finding: Finding) -> str:
    gain = finding.projected_speedup
    if gain is None or "at most" in gain.formula:
        return "at most"
    return "re-timed"
