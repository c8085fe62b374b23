"""Kernels that hold the time: what limits each, how far it is from what it could reach, and what to do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from rocm_perf.analysis.time.attention_products import fused_products
from rocm_perf.analysis.time.conversions import CONVERSIONS, conversion_findings
from rocm_perf.analysis.time.families import ATTENTION, UNFUSED, family_findings, is_fusible
from rocm_perf.analysis.time.kernel_family import OTHER, RUNTIME
from rocm_perf.analysis.verdict.kernels.case import Case
from rocm_perf.analysis.verdict.kernels.headroom import headroom
from rocm_perf.analysis.verdict.kernels.instruments import Instrument, instruments
from rocm_perf.analysis.verdict.kernels.precision import ID as SINGLE_PRECISION
from rocm_perf.analysis.verdict.kernels.precision import is_plain, precision_findings
from rocm_perf.analysis.verdict.kernels.subjects import Subject, joined, subjects
from rocm_perf.analysis.verdict.kernels.tiny_launches import tiny_launch_findings
from rocm_perf.analysis.verdict.kernels.wording import finding_of, group_finding, instrument_finding
from rocm_perf.analysis.verdict.ranking import TUNED, UNKNOWN
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.limits import GroupCause

_KERNELS = 3
_SLIGHT = 0.01  # of the wall
_SHARE = 0.10  # of the kernel time: from here on a kernel is worth a finding of its own


def kernel_findings(document: Document) -> list[Finding]:
    """What an expert says of the kernels, what is worth most first; never silent unless they take next to no time."""
    listed = [] if _beside_the_point(document) else _under_test(subjects(document), document)
    together = [
        *family_findings(document),
        *conversion_findings(document),
        *precision_findings(listed, document),
    ]
    groups = [] if together else _groups(document)
    together += [group_finding(group, document) for group in groups]
    seen = instruments(document)
    weighed = [
        (_weight(finding, [one for one in listed if _told(one, {finding.id})]), finding)
        for finding in together
    ]
    grouped = frozenset(kernel for group in groups for kernel in group.kernels)
    for subject in _chosen(
        [one for one in listed if not grouped.issuperset(one.kernels)], together, document
    ):
        case = _case(subject, listed, seen, document)
        finding = finding_of(case)
        weighed.append((_weight(finding, [subject], TUNED if case.fastest else UNKNOWN), finding))
    ordered = [finding for _, finding in sorted(weighed, key=lambda pair: -pair[0])]
    named = frozenset(kernel for subject in listed for kernel in subject.kernels)
    apart = [instrument_finding(one, document) for one in seen if one.kernel not in named]
    return [*ordered, *apart, *tiny_launch_findings(document)]


def _under_test(listed: list[Subject], document: Document) -> list[Subject]:
    """Return the kernels without the runtime's own copies and fills, where a profiler ran them one by one: those are
    of the harness, which measures the others."""
    own = [one for one in listed if one.library != RUNTIME]
    return own if own and document.gaps.doubt else listed


def _groups(document: Document) -> list[GroupCause]:
    """Return the kernels that one kernel, or one launch, could replace, if they hold enough of the time."""
    total = sum(spot.total_ns for spot in document.hotspots.rows)
    return [group for group in document.bottlenecks.groups if group.total_ns >= _SHARE * total > 0][:1]


def _beside_the_point(document: Document) -> bool:
    """Whether the time is the host's. Where its calls were not recorded, the rest may be the profiler's instead."""
    host = document.tables.get("api_calls", 0) + document.tables.get("ops", 0)
    return bool(host and document.wall_ns and document.hotspots.total_ns < _SLIGHT * document.wall_ns)


def _chosen(listed: Sequence[Subject], together: Sequence[Finding], document: Document) -> list[Subject]:
    """The costliest kernels that no finding about several tells of, after a family of small ones that hold more; where
    none is large, those with the cause that holds most time, as one."""
    ids = {finding.id for finding in together}
    attention = document.families.attention_by_hand if ATTENTION in ids else None
    products = fused_products(document) if attention else None
    fused = frozenset(attention.kernels if attention else ()) | (
        products.kernels if products else frozenset()
    )
    apart = [subject for subject in listed if not (fused.issuperset(subject.kernels) or _told(subject, ids))]
    large = [subject for subject in apart if subject.share >= _SHARE]
    if large:
        return [*_of_one_family(apart, large), *large][:_KERNELS]
    return [] if together else _alike(apart)


def _of_one_family(apart: Sequence[Subject], large: Sequence[Subject]) -> list[Subject]:
    """Small kernels of one family and library as one, where they hold more than the large ones together: a product has
    another kernel for each shape."""
    small = [one for one in apart if one not in large and one.family != OTHER.name]
    most = _most((one, one.kind) for one in small)
    much = sum(one.share for one in most) > sum(one.share for one in large)
    return [joined(most)] if much else []


def _alike(small: Sequence[Subject]) -> list[Subject]:
    """Small kernels of one family and library with one cause as one, or the costliest: of what nothing is known of,
    nothing is known to be alike."""
    most = _most((one, (one.kind, one.label)) for one in small if one.label is not None)
    return [joined(most)] if sum(one.share for one in most) >= _SHARE else list(small[:1])


def _most(keyed: Iterable[tuple[Subject, Hashable]]) -> list[Subject]:
    """Those of one key that hold most time together, in their order."""
    groups: dict[Hashable, list[Subject]] = {}
    for subject, key in keyed:
        groups.setdefault(key, []).append(subject)
    return max(groups.values(), key=lambda alike: sum(one.total_ns for one in alike), default=[])


def _told(subject: Subject, ids: set[str]) -> bool:
    fused = UNFUSED in ids and all(map(is_fusible, subject.kernels))
    converts = CONVERSIONS in ids and subject.converts
    return fused or converts or (SINGLE_PRECISION in ids and is_plain(subject))


def _case(
    subject: Subject, listed: Sequence[Subject], seen: Sequence[Instrument], document: Document
) -> Case:
    rivals = (rival for rival in document.bottlenecks.rivals if rival.slow in subject.kernels)
    rival = next(rivals, None)
    faster = next((one for one in listed if rival and rival.fast in one.kernels), None)
    return Case(
        subject=subject,
        document=document,
        room=headroom(subject, listed, document),
        rival=rival,
        rival_label=faster.label if faster else None,
        instrument=next((one for one in seen if one.kernel in subject.kernels), None),
    )


def _weight(finding: Finding, about: Sequence[Subject], unknown: float = UNKNOWN) -> float:
    """For the order: what it is worth, or that share of the time it is about where nobody can tell."""
    stake = finding.time_at_stake_ns
    return unknown * sum(subject.total_ns for subject in about) if stake is None else float(stake)
