"""The finding about one kernel: its title, what to do, and the command that tells more."""

from __future__ import annotations

from shlex import quote

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.bottleneck.advice import application
from rocm_perf.analysis.time.kernel_family import RUNTIME
from rocm_perf.analysis.verdict.kernels.case import Case
from rocm_perf.analysis.verdict.kernels.evidence import evidence_of
from rocm_perf.analysis.verdict.kernels.instruments import Instrument
from rocm_perf.analysis.verdict.kernels.words import (
    ATTENTION_REMEDY,
    CAUSES,
    CLOSER,
    CLOSER_REMEDIES,
    KINDS,
    LIBRARY_REMEDIES,
    MOVER_CAUSE,
    MOVER_REMEDY,
    NEAR_IN_DOUBLE,
    OWN_ATTENTION,
    REMEDIES,
    RIVAL_REMEDY,
    RUNTIME_CAUSE,
    RUNTIME_REMEDY,
    UNCAPTURED_REMEDY,
    UNKNOWN_REMEDY,
    UNMEASURED,
    of_several,
)
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Label
from rocm_perf.units import format_count, format_share

_ROOFS: dict[Kind, Label] = {"kernel-compute": "compute", "kernel-memory": "memory bandwidth"}
_GIVERS = {False: "memory gives", True: "the arithmetic units give"}  # by whether arithmetic is the roof
_SETS_THE_PACE = 0.6  # of a roof: further below, something else holds a kernel back as well
_SPEEDUP = "wall_ns / (wall_ns - time_at_stake_ns), at most"


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
        return f"rocm-perf profile --counters full_profile -- {application(case.document.run) or 'APP'}"
    proven = case.label is not None and case.because is None
    return "" if proven else next(iter(main.would_tell_more), "")


def _title(case: Case) -> str:
    name = case.subject.name
    if case.rival is not None:
        ratio = case.rival.slow_ns / case.rival.fast_ns
        return f"{name} takes {ratio:.1f} times as long as its rival {short_name(case.rival.fast)}"
    others, share, cause = case.subject.others, format_share(case.subject.share), _cause(case)
    if others:
        both = f"{name} and {format_count(others, 'other kernel')}"
        return f"{both} take {share} of the kernel time: {of_several(cause)}"
    return f"{name} takes {share} of the kernel time: {cause}"


def _cause(case: Case) -> str:
    if case.instrument is not None and case.instrument.label:
        return case.instrument.title
    if case.near:
        return NEAR_IN_DOUBLE if case.subject.in_double else "it is near its roof"
    if case.subject.library == RUNTIME:
        return RUNTIME_CAUSE
    if case.moves:
        return MOVER_CAUSE
    if case.label in _ROOFS.values() and case.room is not None and case.room.reached < _SETS_THE_PACE:
        return f"it reaches {format_share(case.room.reached)} of what {_GIVERS[case.room.computes]}"
    if case.label is not None:
        probably = "probably " if case.because in UNMEASURED else ""
        return probably + (CLOSER.get(case.closer) or CAUSES[case.label])
    if case.room is not None and case.kind != "kernel":
        return f"it reaches {format_share(case.room.reached)} of what it could"
    if case.room is not None:
        least = "" if case.room.counted else "at least "
        return f"it reaches {least}{format_share(case.room.reached)} of its roof; why not more cannot be told"
    return "why cannot be told"


def _remedy(case: Case) -> str:
    if case.rival is not None and case.label is None:
        return RIVAL_REMEDY.format(short_name(case.rival.fast))
    if case.subject.library == RUNTIME:
        return RUNTIME_REMEDY
    if case.moves:
        return MOVER_REMEDY
    if case.label is None and case.uncaptured:
        return UNCAPTURED_REMEDY
    limit = case.label or _ROOFS.get(case.kind)
    if limit in (None, *_ROOFS.values()) and not case.near and (choice := _another_kernel(case)):
        return choice
    return CLOSER_REMEDIES.get(case.closer) or (REMEDIES[limit] if limit else UNKNOWN_REMEDY)


def _another_kernel(case: Case) -> str | None:
    """How somebody who only calls this kernel gets another; None where the kernel may be their own."""
    if len(case.subject.kinds) != 1:
        return None
    (kind,) = case.subject.kinds
    if kind.name == "attention" and kind.library not in OWN_ATTENTION:
        return ATTENTION_REMEDY
    return LIBRARY_REMEDIES.get((kind.name, kind.library))


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
        id=kernel_finding(name) if one.kernel else "kernel-sampled",
        severity="info",
        title=f"{name}: {one.title}",
        evidence=one.evidence,
        remedy=REMEDIES[one.label] if one.label else UNKNOWN_REMEDY,
        next_command=f"rocm-perf analyze {quote(document.label)} --show {one.shown_by}",
        kind=KINDS[one.label] if one.label else "kernel",
    )
