"""What to do next: the findings of all topics, each with what its remedy would bring; at most ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.profiled_times import times_are_not_kernels
from rocm_perf.analysis.basis.stakes import bound
from rocm_perf.analysis.path.unprofiled import unprofiled
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.verdict.doubts import WAITS, doubts, leads
from rocm_perf.analysis.verdict.host_pace import within_hosts_pace
from rocm_perf.analysis.verdict.nothing import nothing_to_gain
from rocm_perf.analysis.verdict.ranking import FAULTS, KERNEL_KINDS, ranked, that_save_something
from rocm_perf.analysis.verdict.startup import is_mostly_startup, startup_findings
from rocm_perf.analysis.verdict.statistics_only import statistics_findings
from rocm_perf.analysis.verdict.themes import THEMED, Run
from rocm_perf.analysis.verdict.worth import WORTH, themed, with_command
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.topic import resolve
from rocm_perf.model.trace import Trace

MOST = 10
_BESIDE = 0.1  # of what the first finding is worth: less is not worth a line beside it
# What of the ledger a finding of each kind can save at most.
_KINDS_OF_ENTRIES: dict[Kind, tuple[str, ...]] = {
    "communication": ("communication", "idle"),
    **dict.fromkeys(KERNEL_KINDS, ("kernel", "copy", "fill")),
}


def conclusions(
    document: Document, trace: Trace, whole: Trace
) -> tuple[tuple[Projection, ...], tuple[Finding, ...]]:
    """The projections that were made, and the findings: doubts first, then what is worth most.

    `trace` is the judged part, which the document is about; `whole` is the recording that it was cut from.
    """
    doubtful = doubts(whole)
    if times_are_not_kernels(whole):
        return (), doubtful
    leading = tuple(doubt for doubt in doubtful if leads(doubt, whole))
    remarks = tuple(doubt for doubt in doubtful if doubt not in leading)
    beside = Beside(
        doubts=leading,
        remarks=remarks,
        others=statistics_findings(whole),
        startup=[] if doubtful else startup_findings(document, whole),
    )
    idle_is_told = document.gaps.doubt is None and all(doubt.id == WAITS for doubt in remarks)
    return concluded(
        Run(document, unprofiled(trace), trace, setting(trace), whole), beside, idle_is_told=idle_is_told
    )


class Beside(NamedTuple):
    """What is said beside the findings of topics."""

    doubts: Sequence[Finding] = ()  # that come before everything else
    remarks: Sequence[Finding] = ()  # about what is missing, where most of it is there
    others: Sequence[Finding] = ()
    startup: Sequence[Finding] = ()


def concluded(
    run: Run, beside: Beside, *, idle_is_told: bool
) -> tuple[tuple[Projection, ...], tuple[Finding, ...]]:
    """Return the same, given what is said beside, and whether idle time is the program's."""
    document = run.document
    waiting = list(_topic_findings(document))
    projections, merged = themed(run, waiting) if idle_is_told and not beside.doubts else ([], [])
    others = (finding for finding in waiting if finding.id not in THEMED)
    alone = [within_hosts_pace(finding, document, run.graph, run.whole) for finding in others]
    bounded = [_within_entries(finding, document) for finding in (*merged, *alone, *beside.others)]
    findings = list(_worded(_worth_a_look(bounded, document, once=bool(beside.startup)), run))
    repairs = [straggler.repair for straggler in document.ranks.stragglers if straggler.repair]
    return (*repairs, *projections), in_order(findings, document, beside)


def _within_entries(finding: Finding, document: Document) -> Finding:
    """Return the finding, worth no more than the entries of the ledger that it is about."""
    stake, about = finding.time_at_stake_ns, _KINDS_OF_ENTRIES.get(finding.kind or "cannot-tell")
    if stake is None or about is None:
        return finding
    most = max(
        (sum(entry.total_ns for entry in gpu.entries if entry.kind in about) for gpu in document.ledger.gpus),
        default=0,
    )
    if not most or stake <= most:
        return finding
    speedup = finding.projected_speedup and bound(document.judged_ns, most)
    return replace(finding, time_at_stake_ns=most, projected_speedup=speedup)


def in_order(findings: Sequence[Finding], document: Document, beside: Beside) -> tuple[Finding, ...]:
    """Return doubts, then what is worth most, with remarks about what is missing behind the first; start-up comes last,
    unless the recording holds little else."""
    order = [*nothing_to_gain(findings, document), *_beside_the_first(ranked(findings, document))]
    is_most = (bool(beside.startup) and is_mostly_startup(document)) or (
        not document.phases.steps and _all_small(order, document)
    )
    order = [*beside.startup, *order] if is_most else [*order, *beside.startup]
    return (*beside.doubts, *order[:1], *beside.remarks, *order[1:])[:MOST]


def _beside_the_first(order: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those about idle time, copies or communication that are worth next to nothing beside
    the first."""
    most = order[0].time_at_stake_ns or 0 if order else 0
    return [
        finding
        for finding in order
        if finding.kind in (*KERNEL_KINDS, "memory", None)
        or finding.id in FAULTS
        or finding.time_at_stake_ns is None
        or finding.time_at_stake_ns >= _BESIDE * most
    ]


def _all_small(findings: Iterable[Finding], document: Document) -> bool:
    """Whether what each of them is worth is known, and next to nothing."""
    stakes = [finding.time_at_stake_ns for finding in findings]
    return all(stake is not None and stake < WORTH * document.judged_ns for stake in stakes)


def _worth_a_look(findings: list[Finding], document: Document, *, once: bool) -> list[Finding]:
    """The findings without those about kernels, where these run once, or take next to no time beside something else;
    else without those of kernels that would save nothing."""
    others = [finding for finding in findings if finding.kind not in KERNEL_KINDS]
    little = _kernel_ns(document) < WORTH * document.judged_ns
    if (once and is_mostly_startup(document)) or (others and little):
        return others
    return [finding for finding in that_save_something(findings) if not _is_small(finding, document)]


def _is_small(finding: Finding, document: Document) -> bool:
    """Return whether a finding about time outside of kernels is worth too little to be told."""
    stake = finding.time_at_stake_ns
    if stake is None or finding.kind is None or finding.kind in (*KERNEL_KINDS, "memory", "startup"):
        return False
    return stake < WORTH * document.judged_ns


def _topic_findings(document: Document) -> Iterator[Finding]:
    """What each topic finds, with the command that shows what it rests on unless a theme knows a better one."""
    for topic in TOPICS:
        if topic.findings:
            for finding in resolve("rocm_perf.analysis", topic.findings)(document):
                shown = "" if finding.id in THEMED else topic.shown_by
                yield with_command(finding, document, shown) if shown else finding


def _kernel_ns(document: Document) -> int:
    """The kernel time of the busiest GPU, or that of all kernels where only their sums were recorded."""
    return max((device.kernel_ns for device in document.devices), default=document.hotspots.total_ns)


def _worded(findings: Iterable[Finding], run: Run) -> Iterator[Finding]:
    """The findings in the words of the GPU's vendor."""
    names = _recorded_names(run.document) if run.setting.nvidia else frozenset()
    for finding in findings:
        yield replace(
            finding,
            title=run.setting.worded(finding.title, names),
            remedy=run.setting.worded(finding.remedy, names),
            evidence=tuple(run.setting.worded(line, names) for line in finding.evidence),
        )


def _recorded_names(document: Document) -> frozenset[str]:
    """The names of kernels and ranges that a finding may quote."""
    kernels = {spot.kernel for spot in document.hotspots.rows}
    kernels |= {held.kernel for held in document.bottlenecks.kernels}
    return frozenset((*kernels, *map(short_name, kernels), *(row.name for row in document.gaps.ranges)))
