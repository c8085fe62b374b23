"""The finding about one kernel: its title, what to do, and the command that tells more."""

from __future__ import annotations

from shlex import quote

from rocm_perf.analysis.basis.counters_refused import counters_refused
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.bottleneck.advice import application
from rocm_perf.analysis.limits.catalogue import catalogue, owners
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.kernel_family import RUNTIME
from rocm_perf.analysis.verdict.kernels.case import Case
from rocm_perf.analysis.verdict.kernels.evidence import evidence_of
from rocm_perf.analysis.verdict.kernels.instruments import Instrument
from rocm_perf.analysis.verdict.kernels.kinds import action
from rocm_perf.analysis.verdict.kernels.words import (
    CAUSES,
    CLOSER,
    CLOSER_REMEDIES,
    CONVERSION_CAUSE,
    COUNT_IT,
    FAR_FROM_MEMORY_REMEDY,
    KINDS,
    MOVER_CAUSE,
    MOVER_REMEDY,
    NARROWER,
    NEAR_IN_DOUBLE,
    NEAR_ROOF,
    REMEDIES,
    RIVAL_REMEDY,
    ROOFS,
    RUNTIME_CAUSE,
    UNCAPTURED_REMEDY,
    UNMEASURED,
)
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.limits import Cause, GroupCause
from rocm_perf.units import format_count, format_share

_GIVERS = {False: "memory gives", True: "the arithmetic units give"}  # by whether arithmetic is the roof
_SETS_THE_PACE = 0.6  # of a roof: further below, something else holds a kernel back as well
_FAR = 0.1  # of a roof: less is said to be far below it, not to reach something
_NARROW_WEIGHTS = "in 8 or 4 bits"  # what a remedy proposes, and the kernel may have
_SPEEDUP = "judged_ns / (judged_ns - time_at_stake_ns), at most"


def kernel_finding(name: str) -> str:
    """The id of what is said of the kernel with this short name."""
    return f"kernel-{name}"


def finding_of(case: Case) -> Finding:
    """What is said of the kernel."""
    stake = case.stake_ns
    return Finding(
        id=kernel_finding(case.subject.name),
        severity="info",
        title=_title(case),
        evidence=tuple(evidence_of(case)),
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
        counters = f"rocm-perf profile --deep -- {application(case.document.run) or 'APP'}"
        return "" if _no_counters(case.document) else counters
    proven = case.label is not None and case.because is None
    if case.cause is not None:
        return f"rocm-perf analyze {quote(case.document.label)} --show kernel:{quote(case.subject.name)}"
    return "" if proven else next(iter(main.would_tell_more), "")


def _title(case: Case) -> str:
    name = case.subject.name
    if case.rival is not None:
        ratio = case.rival.slow_ns / case.rival.fast_ns
        slow, fast = case.rivals
        return f"{slow} takes {ratio:.1f} times as long as the alternative kernel {fast}"
    others, share = case.subject.others, format_share(case.subject.share)
    if others:
        both = f"{name} and {format_count(others, 'other kernel')}"
        return f"{both} take {share} of the kernel time{_because(case)}"
    return f"{name} takes {share} of the kernel time{_because(case)}"


def _because(case: Case) -> str:
    cause = _cause(case)
    return f": {cause}" if cause else f"; {_not_known(case)}"


def _cause(case: Case) -> str:
    """What holds it back, as far as that is known."""
    others = case.subject.others
    if case.instrument is not None and case.instrument.label and not others:
        return case.instrument.title
    if case.cause is not None and not case.moves:
        probably = "probably " if case.cause.certainty == "likely" and not case.cause.saves else ""
        return probably + case.cause.title
    if case.near:
        return (NEAR_IN_DOUBLE if case.subject.in_double else NEAR_ROOF).of(others)
    if case.subject.library == RUNTIME:
        return RUNTIME_CAUSE.of(others)
    if case.moves:
        return (CONVERSION_CAUSE if case.subject.converts else MOVER_CAUSE).of(others)
    if case.label in ROOFS.values() and case.room is not None and case.room.reached < _SETS_THE_PACE:
        return _reaches(case, f"what {_GIVERS[case.room.computes]}")
    if case.label is not None:
        probably = "probably " if case.because in UNMEASURED else ""
        return probably + CLOSER.get(case.closer, CAUSES[case.label]).of(others)
    if case.room is not None and case.kind != "kernel":
        could = "they could" if others else "it could"
        return _reaches(case, f"what {_GIVERS[case.room.computes] if case.fastest else could}")
    supposed = case.hint.title if case.hint else case.guess.limit if case.guess else ""
    if case.room is not None:
        unknown = f"probably: {supposed}" if supposed else _not_known(case)
        return f"{_reaches(case, 'their roofs' if others else 'its roof')}; {unknown}"
    return f"probably {supposed}" if supposed else ""


def _reaches(case: Case, roof: str) -> str:
    """How near it comes to its roof, which has to be known."""
    if case.room is None:
        return ""
    share = format_share(case.room.reached)
    if case.room.reached < _FAR:
        about = "about " if case.room.bound == "about " else ""
        verb = "are" if case.subject.others else "is"
        return f"{case.subject.pronoun} {verb} far below {roof} ({about}{share.replace('<', 'below ')})"
    verb = "reach" if case.subject.others else "reaches"
    return f"{case.subject.pronoun} {verb} {case.room.bound}{share} of {roof}"


def _not_known(case: Case) -> str:
    """That nothing says why it is not faster, and the reason where that is that nothing was counted; or the one sign
    that there is, or what it is."""
    scratch = case.subject.evidence("scratch")
    if scratch is not None and not case.subject.others:
        return f"each work-item keeps {scratch.value:,.0f} bytes in scratch, which may be why"
    unknown = f"what limits {'them' if case.subject.others else 'it'} is unknown"
    if case.measured:
        return unknown
    if case.known_kind is not None:
        return f"{'each' if case.subject.others else 'it'} is {case.known_kind.does}"
    return f"{unknown}: no counters were recorded"


def _remedy(case: Case) -> str:
    if case.rival is not None and case.label is None:
        return RIVAL_REMEDY.format(case.rivals[1])
    if case.subject.library == RUNTIME:
        return remedy("buffers-by-runtime", setting_of(case.document))
    if case.moves:
        if not case.subject.converts:
            return MOVER_REMEDY
        return remedy("layout-conversions", setting_of(case.document))
    if case.cause is not None:
        return _remedy_of(case, case.cause)
    if case.label is None and case.uncaptured and case.hint is None and case.known_kind is None:
        return f"{UNCAPTURED_REMEDY} Or {_count_it(case.document)}"
    if case.hint is not None:
        return _remedy_of(case, case.hint)
    limit = case.label or ROOFS.get(case.kind)
    if limit in (None, *ROOFS.values()) and not case.near and (choice := _another_kernel(case)):
        return choice
    if limit in ROOFS.values() and case.because in UNMEASURED and (usual := _usual(case)):
        return usual
    if limit == "memory bandwidth" and _memory_gives_more(case):
        return _or_narrower(FAR_FROM_MEMORY_REMEDY, case)
    if closer := CLOSER_REMEDIES.get(case.closer):
        return closer
    if limit is None:
        return _usual(case) or _unknown_remedy(case.document)
    return _or_narrower(REMEDIES[limit], case) if limit in ROOFS.values() else REMEDIES[limit]


def _remedy_of(case: Case, cause: Cause) -> str:
    """Return the remedy of a cause; of a library's kernel how to get another, unless the cause knows better."""
    for_callers = any(owner in catalogue()[cause.id].remedy for owner in owners(case.subject.spots[0].kernel))
    done = case.subject.is_narrow and _NARROW_WEIGHTS in cause.remedy
    return cause.remedy if for_callers and not done else _another_kernel(case) or cause.remedy


def _unknown_remedy(document: Document) -> str:
    text = _count_it(document)
    return text[0].upper() + text[1:]


def _count_it(document: Document) -> str:
    """Return how to learn what a kernel does: from counters only where they can be recorded."""
    if not _no_counters(document):
        return COUNT_IT
    text = remedy("learn-without-counters", setting_of(document))
    return text[0].lower() + text[1:]


def _no_counters(document: Document) -> str:
    return counters_refused(document.run, (agent.gfx for agent in document.agents))


def _or_narrower(remedy: str, case: Case) -> str:
    return remedy if case.subject.is_narrow else remedy + NARROWER


def _memory_gives_more(case: Case) -> bool:
    """Whether it is well below what memory gives."""
    room = case.room
    return room is not None and not room.computes and room.reached < _SETS_THE_PACE


def _another_kernel(case: Case) -> str | None:
    """How somebody who only calls this kernel gets another; None where the kernel may be their own."""
    kind = case.known_kind
    return _usual(case) if kind is not None and kind.another and case.subject.library else None


def _usual(case: Case) -> str | None:
    """What is usually done about a kernel of its kind."""
    kind = case.known_kind
    if kind is None:
        return None
    text = action(kind, setting_of(case.document))
    return _or_narrower(text, case) if kind.narrow else text


def _speedup(document: Document, stake_ns: int | None) -> Quantity | None:
    wall = document.judged_ns
    if not stake_ns or stake_ns >= wall:
        return None
    inputs = {"judged_ns": wall, "time_at_stake_ns": stake_ns}
    return Quantity(value=wall / (wall - stake_ns), unit="x", formula=_SPEEDUP, inputs=inputs)


def instrument_finding(one: Instrument, document: Document) -> Finding:
    """What is said of a traced or sampled kernel whose times were not recorded."""
    name = short_name(one.kernel) if one.kernel else "The sampled kernel"
    return Finding(
        id=kernel_finding(name) if one.kernel else "kernel-sampled",
        severity="info",
        title=f"{name}: {one.title}",
        evidence=one.evidence,
        remedy=REMEDIES[one.label] if one.label else _unknown_remedy(document),
        next_command=f"rocm-perf analyze {quote(document.label)} --show {one.shown_by}",
        kind=KINDS[one.label] if one.label else "kernel",
    )


def group_finding(group: GroupCause, document: Document) -> Finding:
    """What is said of several kernels with one cause; it saves no more than a part of their time."""
    kernels_ns = sum(spot.total_ns for spot in document.hotspots.rows)
    saves = group.cause.saves
    stake = None if saves is None else round(saves * group.total_ns / max(len(document.devices), 1))
    return Finding(
        id=f"group-{group.cause.id}",
        severity="info",
        title=group.cause.title,
        evidence=(f"{format_share(group.total_ns / kernels_ns)} of the kernel time", *group.cause.evidence),
        time_at_stake_ns=stake,
        projected_speedup=_speedup(document, stake),
        remedy=group.cause.remedy,
        kind=KINDS[catalogue()[group.cause.id].label],
    )
