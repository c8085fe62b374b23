"""The case of one kernel: one cause from all the evidence, what it is worth, and the finding that says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

from rocm_perf.analysis.basis.names import demangle, short_name
from rocm_perf.analysis.bottleneck.advice import application
from rocm_perf.analysis.time.families import RUNTIME
from rocm_perf.analysis.verdict.kernel_headroom import Headroom, worth
from rocm_perf.analysis.verdict.kernel_instruments import Instrument
from rocm_perf.analysis.verdict.kernel_subjects import Subject
from rocm_perf.analysis.verdict.kernel_words import (
    CAUSES,
    CLOSER,
    CLOSER_REMEDIES,
    COUNTED,
    KINDS,
    NEAR,
    REMEDIES,
    RIVAL_REMEDY,
    RUNTIME_CAUSE,
    RUNTIME_REMEDY,
    SUPPORT,
    TOO_SHORT,
    UNKNOWN_REMEDY,
    UNMEASURED,
)
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Label, Rival
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

_SHORT_NS = 10_000  # a dispatch this short ends before the memory of a large GPU is busy
_SPREAD = 3.0  # times the median: a dispatch this slow is another case than the others
_WEIGHTY = 0.2  # of the kernel's time
_SHOWN = 0.1  # a smaller share supports nothing
_PLAIN = 0.5
_LONGEST_NAME = 100  # characters
_LIMITS = 0.35  # of a roof: a kernel further away is limited by something else
_ROOFS: dict[Kind, Label] = {"kernel-compute": "compute", "kernel-memory": "memory bandwidth"}
_SPEEDUP = "wall_ns / (wall_ns - time_at_stake_ns), at most"


@dataclass(frozen=True)
class Case:
    """Everything that is known of one kernel that holds much of the time."""

    subject: Subject
    document: Document
    room: Headroom | None
    rival: Rival | None
    rival_label: Label | None  # what holds the faster rival back
    instrument: Instrument | None

    @property
    def because(self) -> str | None:
        """The name of the measurement that points to the cause, where one alone does."""
        return self.subject.main.because if self.subject.main else "streams"

    @property
    def label(self) -> Label | None:
        """The cause. What a thread trace or samples show is nearer to it than what follows from counters."""
        if self.instrument and self.instrument.label:
            return self.instrument.label
        label = self.subject.label
        return (
            None if self.rival and label == self.rival_label else label
        )  # what both have explains no difference

    @property
    def closer(self) -> str:
        """The measurement that says more than the cause's name."""
        if self.because in CLOSER:
            return self.because
        names = [name for name in SUPPORT[self.label] if name in CLOSER] if self.label else []
        strong = {name: evidence.value for name in names if (evidence := self.subject.evidence(name))}
        most = max(strong, key=lambda name: strong[name], default="")
        return most if strong.get(most, 0.0) >= _PLAIN else ""

    @property
    def kind(self) -> Kind:
        if self.label:
            return KINDS[self.label]
        if self.room is None or self.room.reached < _LIMITS:
            return "kernel"
        return "kernel-compute" if self.room.computes else "kernel-memory"

    @property
    def stake_ns(self) -> int | None:
        """What the remedy saves at most; None where nothing bounds it but the kernel's own time."""
        if self.rival is not None:
            return self.subject.saved_ns(1 - self.rival.fast_ns / self.rival.slow_ns)
        if self.room is not None and self.room.near:
            return 0
        share = _gained(self)
        return None if share is None else self.subject.saved_ns(share)


def _gained(case: Case) -> float | None:
    """The share of its time that the cause accounts for, at most."""
    if case.instrument is not None and case.instrument.share is not None:
        return case.instrument.share
    busy, conflicts = (case.subject.evidence(name) for name in ("lds_busy", "lds_conflicts"))
    if case.label == "LDS" and conflicts is not None:
        return busy.value * conflicts.value if busy is not None else None
    empty = case.subject.evidence("empty_units")
    if case.because == "empty_units" and empty is not None:
        return empty.value
    if case.label in ("scratch", "LDS"):
        return None  # what it moves or waits now is no measure of what it has to
    if case.room is None or (case.room.reached < _LIMITS and not case.room.counted):
        return None  # shapes say what a kernel has to do, not what it does
    return case.room.share


def finding_of(case: Case) -> Finding:
    """What is said of the kernel."""
    stake = case.stake_ns
    return Finding(
        id=f"kernel-{case.subject.name}",
        severity="info",
        title=_title(case),
        evidence=tuple(_evidence(case, stake)),
        time_at_stake_ns=stake,
        projected_speedup=_speedup(case.document, stake),
        remedy=_remedy(case),
        next_command=_next_command(case),
        kind=case.kind,
    )


def _next_command(case: Case) -> str:
    """What would tell more; nothing where the cause is proven and its evidence can be looked at."""
    main = case.subject.main
    if main is None:
        return f"rocm-perf profile --counters full_profile -- {application(case.document.run) or 'APP'}"
    proven = case.label is not None and case.because is None
    return "" if proven else next(iter(main.would_tell_more), "")


def _title(case: Case) -> str:
    name = case.subject.name
    if case.rival is not None:
        ratio = case.rival.slow_ns / case.rival.fast_ns
        return f"{name} takes {ratio:.1f} times as long as its rival {short_name(case.rival.fast)}"
    return f"{name} takes {format_share(case.subject.share)} of the kernel time: {_cause(case)}"


def _cause(case: Case) -> str:
    if case.instrument is not None and case.instrument.label:
        return case.instrument.title
    if case.room is not None and case.room.near:
        return "it is near its roof"
    if case.subject.library == RUNTIME:
        return RUNTIME_CAUSE
    if case.label is not None:
        probably = "probably " if case.because in UNMEASURED else ""
        return probably + (CLOSER.get(case.closer) or CAUSES[case.label])
    if case.room is not None and case.kind != "kernel":
        return f"it reaches {format_share(case.room.reached)} of what it could"
    return "why cannot be told"


def _evidence(case: Case, stake_ns: int | None) -> Iterator[str]:
    subject, room = case.subject, case.room
    point = subject.points[0] if subject.points else None
    yield (
        f"{format_ns(subject.total_ns)} of {format_ns(case.document.hotspots.total_ns)} kernel time, in "
        f"{format_count(subject.calls, 'dispatch', 'dispatches')} of {format_ns(subject.total_ns / subject.calls)}"
        if subject.calls
        else f"{format_ns(subject.total_ns)} of {format_ns(case.document.hotspots.total_ns)} kernel time"
    )
    yield from _in_full(subject)
    if case.rival is not None:
        yield _rivalry(case.rival)
    if case.instrument is not None:
        yield from case.instrument.evidence
    yield from _support(case)
    if room is not None:
        yield room.says
    if room is not None and room.near:
        yield NEAR[room.computes]
    elif room is not None and case.rival is None and stake_ns and _gained(case) == room.share:
        yield worth(room.share, stake_ns)
    elif point is not None and room is None:
        yield from _moved(point)
    if case.kind == "kernel":
        yield _unknown(case)
    faster = sum(row.impact_ns for row in subject.on_path)
    if stake_ns is None and faster:
        yield f"each tenth that it gets faster saves {format_ns(faster)} of the wall (re-timed)"
    if case.label != "launch/latency":
        yield from _too_short(subject)
    yield from _slow_dispatch(subject)


def _moved(point: KernelRoofline) -> Iterator[str]:
    """The bytes of a dispatch and their rate, where they were counted but no peak is known."""
    if point.bytes.value and point.tbytes.value:
        doubt = point.bytes.doubt
        rate = (
            f"{point.tbytes.value:.2f} TB/s"
            if point.tbytes.value >= 0.1
            else f"{1000 * point.tbytes.value:.1f} GB/s"
        )
        least = "at least " if doubt else ""
        said = f" ({doubt})" if doubt else ""
        yield f"a dispatch moves {least}{format_bytes(float(point.bytes.value))}, {rate}{said}"


def _rivalry(rival: Rival) -> str:
    return (
        f"{format_ns(rival.slow_ns)} a dispatch (median) against {format_ns(rival.fast_ns)} of "
        f"{short_name(rival.fast)}; they are taken for rivals that solve one problem: {rival.basis}"
    )


def _support(case: Case) -> Iterator[str]:
    """What speaks for the cause; the roof has its own sentence."""
    if case.label is None or case.instrument is not None:
        return
    roofs = ("compute_share", "memory_share") if case.room else ()
    for name in SUPPORT[case.label]:
        evidence = case.subject.evidence(name)
        strong = evidence is not None and (name == case.because or evidence.value >= _SHOWN)
        if evidence is not None and strong and name not in roofs:
            yield evidence.says


def _unknown(case: Case) -> str:
    """Which kinds of measurement are missing, and what those that exist rule out."""
    missing = [what for what, names in COUNTED.items() if not any(map(case.subject.evidence, names))]
    if case.subject.points:
        known = {
            "bytes": case.subject.points[0].bytes.known,
            "arithmetic": case.subject.points[0].flops.known,
        }
        missing = [what for what in missing if not known.get(what, False)]
    if not missing:
        return "what was recorded points to no one cause"
    clear = case.subject.evidence("lds_conflict_cycles")
    counted = f"; {clear.says}" if clear is not None else ""
    return f"why it takes that long cannot be told: {_none_of(missing)} counted{counted}"


def _none_of(missing: list[str]) -> str:
    *first, last = missing
    return f"no {', no '.join(first)} and no {last} were" if first else f"no {last} were"


def _in_full(subject: Subject) -> Iterator[str]:
    """The name with its namespaces, where the short one may be anybody's."""
    name = demangle(subject.spots[0].kernel).removeprefix("void ").partition("<")[0].partition("(")[0]
    if "::" in name and len(name) <= _LONGEST_NAME:
        yield f"its full name: {name}"


def _too_short(subject: Subject) -> Iterator[str]:
    """That its dispatches are too few and too short to judge."""
    usual = subject.spots[0].median_ns
    if usual and usual < _SHORT_NS and subject.total_ns < 1000 * _SHORT_NS:
        yield TOO_SHORT.format(format_ns(usual))


def _slow_dispatch(subject: Subject) -> Iterator[str]:
    """A dispatch that is so much slower than the others that it is another case."""
    spot = subject.spots[0]
    slowest, usual = spot.max_ns, spot.median_ns
    if slowest and usual and slowest >= _SPREAD * usual and slowest - usual >= _WEIGHTY * spot.total_ns:
        yield (
            f"its slowest dispatch takes {format_ns(slowest)}, half of them {format_ns(usual)} or less: a first call "
            "with cold caches, or a larger problem"
        )


def _remedy(case: Case) -> str:
    if case.rival is not None and case.label is None:
        return RIVAL_REMEDY.format(short_name(case.rival.fast))
    if case.subject.library == RUNTIME:
        return RUNTIME_REMEDY
    if case.label is None:
        return REMEDIES[_ROOFS[case.kind]] if case.kind in _ROOFS else UNKNOWN_REMEDY
    return CLOSER_REMEDIES.get(case.closer) or REMEDIES[case.label]


def _speedup(document: Document, stake_ns: int | None) -> Quantity | None:
    wall = document.path.wall_ns
    if not stake_ns or stake_ns >= wall:
        return None
    inputs = {"wall_ns": wall, "time_at_stake_ns": stake_ns}
    return Quantity(value=wall / (wall - stake_ns), unit="x", formula=_SPEEDUP, inputs=inputs)


def instrument_finding(one: Instrument, document: Document) -> Finding:
    """What is said of a traced or sampled kernel whose times were not recorded."""
    name = short_name(one.kernel) if one.kernel else "The sampled kernel"
    return Finding(
        id=f"kernel-{name}" if one.kernel else "kernel-sampled",
        severity="info",
        title=f"{name}: {one.title}",
        evidence=one.evidence,
        remedy=REMEDIES[one.label] if one.label else UNKNOWN_REMEDY,
        next_command=f"rocm-perf analyze {quote(document.label)} --show {one.shown_by}",
        kind=KINDS[one.label] if one.label else "kernel",
    )
