"""The sentences that a finding about a kernel rests on."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.analysis.basis.names import demangle
from rocm_perf.analysis.roofline.build import NO_WORK
from rocm_perf.analysis.verdict.kernels.case import LIMITS, Case
from rocm_perf.analysis.verdict.kernels.headroom import worth
from rocm_perf.analysis.verdict.kernels.subjects import Subject
from rocm_perf.analysis.verdict.kernels.words import (
    ADDS_BY_INDEX,
    BESIDE_THE_PATH,
    COUNTED,
    IN_DOUBLE,
    ROOFS,
    SUPPORT,
    TOO_SHORT,
    nothing_to_gain,
)
from rocm_perf.model.finding import is_next_to_nothing
from rocm_perf.model.instances import names_apart
from rocm_perf.model.results.bottleneck import Rival
from rocm_perf.model.results.roofline import KernelRoofline
from rocm_perf.model.results.times import Hotspot
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

_SHORT_NS = 10_000  # a dispatch this short ends before the memory of a large GPU is busy
_SPREAD = 3.0  # times the median: a dispatch this slow is another case than the others
_WEIGHTY = 0.2  # of the kernel's time
_SHOWN = 0.1  # a smaller share supports nothing
_SEVERAL = 2  # kernels of one short name
_LONGEST_NAME = 100  # characters


def evidence_of(case: Case) -> Iterator[str]:
    """The sentences that a finding about the kernel rests on, the weightiest first: its title says how much time is at
    stake, so what shows the cause comes before the rest about time."""
    if case.subject.others:
        yield _time(case)
        yield f"none of them takes much by itself; the costliest, {case.subject.name}, stands here for all"
        yield from _causes(case)
    else:
        first, *others = [*_causes(case), ""]
        yield from filter(None, (first, _time(case), *others))
    yield from _distance(case)
    if case.subject.in_double and not case.near:
        yield IN_DOUBLE
    if case.subject.adds_by_index:
        yield ADDS_BY_INDEX
    if case.kind == "kernel":
        yield _unknown(case)
    yield from _instances(case.subject)
    yield from _in_full(case.subject)
    yield from _by_a_tenth(case)
    if case.label != "launch/latency":
        yield from _too_short(case.subject)
    yield from _slow_dispatch(case.subject)


def _causes(case: Case) -> Iterator[str]:
    """What was measured of it that names a cause; first the roof that it was counted against, where that is it."""
    if _roof_leads(case):
        yield from _roof(case)
    if case.rival is not None:
        yield _rivalry(case.rival, case.rivals[1])
    if case.instrument is not None:
        yield from case.instrument.evidence
    cause = case.cause or case.hint
    if cause is not None:
        yield from cause.evidence
    if case.guess is not None and case.known_kind is not None:
        yield f"a hint from its name, not a measurement: it is {case.known_kind.does}, and {case.guess.why}"
    if case.cause is not None and case.cause.is_not:
        yield f"it is not {case.cause.is_not}"
    yield from _support(case)


def _time(case: Case) -> str:
    subject = case.subject
    spent = f"{format_ns(subject.total_ns)} of {format_ns(case.document.hotspots.total_ns)} kernel time"
    if not subject.calls:
        return spent
    dispatches = format_count(subject.calls, "dispatch", "dispatches")
    return f"{spent}, in {dispatches} of {format_ns(subject.total_ns / subject.calls)}"


def _roof_leads(case: Case) -> bool:
    """Whether the roof is the cause, and how near it is was counted."""
    if case.rival is not None or case.instrument is not None or case.room is None or case.cause is not None:
        return False
    return case.label in ROOFS.values() and case.room.counted and case.room.reached >= LIMITS


def _distance(case: Case) -> Iterator[str]:
    """How near it is to its roof and what the rest is worth; without a roof, what it moves."""
    room, stake, judged_ns = case.room, case.stake_ns, case.document.judged_ns
    if not _roof_leads(case):
        yield from _roof(case)
    if case.near and room is not None:
        yield nothing_to_gain(
            computes=room.computes, others=case.subject.others, narrow=case.subject.is_narrow
        )
    elif stake is not None and is_next_to_nothing(stake, judged_ns):
        yield BESIDE_THE_PATH.of(case.subject.others)
    elif (
        room is not None
        and room.share is not None
        and case.rival is None
        and stake
        and case.gained == room.share
    ):
        yield worth(room.share, stake)


def _roof(case: Case) -> Iterator[str]:
    if case.room is not None:
        yield case.room.says
    elif case.subject.points:
        yield from _moved(case.subject.points[0])


def _by_a_tenth(case: Case) -> Iterator[str]:
    """What is known to be saved where nobody can tell how fast it could be."""
    faster = sum(row.impact_ns for row in case.subject.on_path)
    if case.stake_ns is None and faster and not case.subject.others:
        yield f"each tenth that it gets faster saves {format_ns(faster)} of the wall (re-timed)"


def _moved(point: KernelRoofline) -> Iterator[str]:
    """The bytes of a dispatch and their rate, where they were counted but no peak is known."""
    if point.bytes.value and point.tbytes.value:
        doubt = point.bytes.doubt
        moved, rate = format_bytes(float(point.bytes.value)), f"{1000 * point.tbytes.value:,.1f} GB/s"
        yield (
            f"a dispatch moves at least {moved}, {rate} ({doubt})"
            if doubt
            else f"a dispatch moves {moved}, {rate}"
        )


def _rivalry(rival: Rival, fast: str) -> str:
    return (
        f"{format_ns(rival.slow_ns)} a dispatch (median) against {format_ns(rival.fast_ns)} of "
        f"{fast}; they are treated as alternatives for the same problem: {rival.basis}"
    )


def _support(case: Case) -> Iterator[str]:
    """What speaks for the cause; the roof has its own sentence."""
    if case.label is None or case.instrument is not None or case.cause is not None:
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
    reason = f"{_none_of(missing)} counted{_nor_computed(case)}{counted}"
    return f"what limits it is unknown: {reason}" if case.rival else reason  # other titles say that it is


def _nor_computed(case: Case) -> str:
    """Why its work does not follow from shapes, where somebody could have recorded more."""
    if case.uncaptured:
        return ", and it ran in a graph whose capture, with its shapes, is not here"
    point = next(iter(case.subject.points), None)
    reason = point.flops.unavailable if point else None
    return f", and its work is not known: {reason}" if reason and not reason.startswith(NO_WORK) else ""


def _none_of(missing: list[str]) -> str:
    *first, last = missing
    return f"no {', no '.join(first)} and no {last} were" if first else f"no {last} were"


def _instances(subject: Subject) -> Iterator[str]:
    """Which of several kernels of one short name takes most of its time."""
    kernels = tuple(dict.fromkeys(spot.kernel for spot in subject.spots))
    if subject.others or len(kernels) < _SEVERAL:
        return
    first = subject.spots[0].kernel
    most = sum(spot.total_ns for spot in subject.spots if spot.kernel == first) / max(subject.total_ns, 1)
    name = names_apart(subject.name, kernels)[first]
    yield f"{len(kernels)} kernels have this name; {name} takes {format_share(most)}"


def _in_full(subject: Subject) -> Iterator[str]:
    """The name with its namespaces, where the short one may be anybody's."""
    name = demangle(subject.spots[0].kernel).removeprefix("void ").partition("<")[0].partition("(")[0]
    if "::" in name and len(name) <= _LONGEST_NAME:
        yield f"its full name: {name}"


def _too_short(subject: Subject) -> Iterator[str]:
    """That its dispatches are too few and too short to judge."""
    spot = subject.spots[0]
    short = spot.mean_ns < _SHORT_NS and not _slowest_is_weighty(spot)
    if spot.median_ns and short and subject.total_ns < 1000 * _SHORT_NS:
        yield TOO_SHORT.format(format_ns(spot.mean_ns))


def _slow_dispatch(subject: Subject) -> Iterator[str]:
    """A dispatch that is so much slower than the others that it is another case."""
    spot = subject.spots[0]
    if spot.max_ns and spot.median_ns and _slowest_is_weighty(spot):
        yield (
            f"its slowest dispatch takes {format_ns(spot.max_ns)}, half of them {format_ns(spot.median_ns)} or less: "
            "a first call with cold caches, or a larger problem"
        )


def _slowest_is_weighty(spot: Hotspot) -> bool:
    slowest, usual = spot.max_ns or 0, spot.median_ns or 0
    return slowest >= _SPREAD * usual and slowest - usual >= _WEIGHTY * spot.total_ns
