"""What to do next: the findings of all topics, each with what its remedy would bring; at most ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers, times_are_not_kernels
from rocm_perf.analysis.path.unprofiled import unprofiled
from rocm_perf.analysis.verdict.doubts import doubts
from rocm_perf.analysis.verdict.host_pace import within_hosts_pace
from rocm_perf.analysis.verdict.nothing import nothing_to_gain
from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS, ranked, that_save_something
from rocm_perf.analysis.verdict.setting import setting
from rocm_perf.analysis.verdict.startup import is_mostly_startup, startup_findings
from rocm_perf.analysis.verdict.statistics_only import statistics_findings
from rocm_perf.analysis.verdict.themed import WORTH, themed, with_command
from rocm_perf.analysis.verdict.themes import THEMED, THEMES, Run
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.topic import resolve
from rocm_perf.model.trace import Trace

MOST = 10
_IDLE_TIME = frozenset(name for theme in THEMES if theme.causes for name in theme.members)


def conclusions(
    document: Document, trace: Trace, whole: Trace
) -> tuple[tuple[Projection, ...], tuple[Finding, ...]]:
    """The projections that were made, and the findings: doubts first, then what is worth most.

    `trace` is the judged part, which the document is about; `whole` is the recording that it was cut from.
    """
    doubtful = doubts(whole)
    if times_are_not_kernels(whole):
        return (), doubtful
    return concluded(
        Run(document, unprofiled(trace), trace, setting(trace), whole),
        doubtful,
        idle_is_told=not idle_is_the_profilers(whole),
        beside=statistics_findings(whole),
        startup=[] if doubtful else startup_findings(document, whole),
    )


def concluded(
    run: Run,
    doubtful: tuple[Finding, ...],
    *,
    idle_is_told: bool,
    beside: Sequence[Finding] = (),
    startup: Sequence[Finding] = (),
) -> tuple[tuple[Projection, ...], tuple[Finding, ...]]:
    """The same, given what makes the recording doubtful, whether idle time is the program's, and what was found beside
    the topics and in the start-up."""
    document = run.document
    waiting = list(_topic_findings(document))
    if doubtful or not idle_is_told:
        waiting = [finding for finding in waiting if not _is_about_idle_time(finding)]
    projections, merged = themed(run, waiting)
    others = (finding for finding in waiting if finding.id not in THEMED)
    alone = [*(within_hosts_pace(finding, document, run.graph, run.whole) for finding in others), *beside]
    findings = list(_worded(_worth_a_look([*merged, *alone], document), run))
    repairs = [straggler.repair for straggler in document.ranks.stragglers if straggler.repair]
    return (*repairs, *projections), in_order(findings, document, doubtful=doubtful, startup=startup)


def in_order(
    findings: Sequence[Finding],
    document: Document,
    *,
    doubtful: Sequence[Finding],
    startup: Sequence[Finding],
) -> tuple[Finding, ...]:
    """Doubts first, then what is worth most; start-up last, unless the recording holds little else."""
    order = [*nothing_to_gain(findings, document), *ranked(findings, document)]
    is_most = is_mostly_startup(document) or (not document.phases.steps and _all_small(order, document))
    order = [*startup, *order] if is_most else [*order, *startup]
    return (*doubtful, *order)[:MOST]


def _all_small(findings: Iterable[Finding], document: Document) -> bool:
    """Whether what each of them is worth is known, and next to nothing."""
    stakes = [finding.time_at_stake_ns for finding in findings]
    return all(stake is not None and stake < WORTH * document.judged_ns for stake in stakes)


def _worth_a_look(findings: list[Finding], document: Document) -> list[Finding]:
    """The findings without those about kernels, where these run once, or take next to no time beside something else;
    else without those of kernels that would save nothing."""
    others = [finding for finding in findings if finding.kind not in KERNEL_KINDS]
    little = _kernel_ns(document) < WORTH * document.judged_ns
    return others if is_mostly_startup(document) or (others and little) else that_save_something(findings)


def _is_about_idle_time(finding: Finding) -> bool:
    return finding.id in _IDLE_TIME


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
