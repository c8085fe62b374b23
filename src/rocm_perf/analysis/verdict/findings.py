"""What to do next: the findings of all topics, each with what its remedy would bring; at most ten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote

from msgspec.structs import replace

from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers, times_are_not_kernels
from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.path.changes import Change
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.verdict.doubts import doubts
from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS, ranked
from rocm_perf.analysis.verdict.recurring import judged_ns, recurring_idle
from rocm_perf.analysis.verdict.setting import setting
from rocm_perf.analysis.verdict.startup import is_mostly_startup, startup_findings
from rocm_perf.analysis.verdict.themes import THEMED, THEMES, Run, Theme
from rocm_perf.errors import UsageError
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.topic import resolve
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns

MOST = 10
_IDLE_TIME = frozenset(name for theme in THEMES if theme.causes for name in theme.members)
_WORTH = (
    0.03  # of the judged time: what a change must save to be proposed, and kernels must take to be looked at
)


def conclusions(
    document: Document, trace: Trace, whole: Trace
) -> tuple[tuple[Projection, ...], tuple[Finding, ...]]:
    """The projections that were made, and the findings: doubts first, then what is worth most.

    `trace` is the judged part, which the document is about; `whole` is the recording that it was cut from.
    """
    doubtful = doubts(whole)
    if times_are_not_kernels(whole):
        return (), doubtful
    run = Run(document, build(trace), trace, setting(trace))
    waiting = list(_topic_findings(document))
    if doubtful or idle_is_the_profilers(whole):
        waiting = [finding for finding in waiting if not _is_about_idle_time(finding)]
    projections: list[Projection] = []
    findings = [finding for finding in waiting if finding.id not in THEMED]
    for theme in THEMES:
        members = [finding for finding in waiting if finding.id in theme.members]
        if not members:
            continue
        projection = _projected(run.graph, theme.change(run)) if not run.graph.empty else None
        if projection is not None:
            projections.append(projection)
        findings += _as_one(run, theme, members, projection)
    if is_mostly_startup(document) or _kernel_ns(document) < _WORTH * judged_ns(document):
        findings = [finding for finding in findings if finding.kind not in KERNEL_KINDS] or findings
    findings = [_worded(finding, run) for finding in findings]
    startup = [] if doubtful else startup_findings(document, whole)
    order = ranked(findings, document)
    order = [*startup, *order] if is_mostly_startup(document) else [*order, *startup]
    return tuple(projections), (*doubtful, *order)[:MOST]


def _is_about_idle_time(finding: Finding) -> bool:
    return finding.id in _IDLE_TIME


def _topic_findings(document: Document) -> Iterator[Finding]:
    """What each topic finds, with the command that shows what it rests on unless a theme knows a better one."""
    for topic in TOPICS:
        if topic.findings:
            for finding in resolve("rocm_perf.analysis", topic.findings)(document):
                shown = "" if finding.id in THEMED else topic.shown_by
                yield _with_command(finding, document, shown) if shown else finding


def _projected(graph: Graph, change: Change | None) -> Projection | None:
    """None where the change has nothing to act on in this recording."""
    if change is None:
        return None
    try:
        projection = whatif(graph, change)
    except UsageError:
        return None
    return projection if projection.saved_ns else None


def _as_one(run: Run, theme: Theme, members: list[Finding], projection: Projection | None) -> list[Finding]:
    """One finding with the evidence of all. One whose remedy would bring next to nothing is left out.

    Without a projection the idle time that recurs is at stake, at most.
    """
    idle = recurring_idle(run.document)
    stake = sum(idle.get(cause, 0) for cause in theme.causes)
    if projection:
        stake = min(projection.saved_ns, _most(run, idle))
    if stake < _WORTH * judged_ns(run.document):
        return []
    largest = max(members, key=lambda member: member.time_at_stake_ns or 0)
    title, remedy = theme.words(run, largest)
    ordered = sorted(members, key=lambda member: -(member.time_at_stake_ns or 0))
    evidence = dict.fromkeys(line for member in ordered for line in member.evidence)
    merged = replace(
        largest,
        id=theme.id,
        kind=theme.kind,
        title=title,
        remedy=remedy,
        evidence=tuple(evidence),
        time_at_stake_ns=stake,
        projected_speedup=projection.speedup if projection else None,
    )
    merged = _with_profilers_part(merged, run.document) if theme.kind == "host-bound" else merged
    return [_with_command(merged, run.document, theme.show)]


def _kernel_ns(document: Document) -> int:
    """The kernel time of the busiest GPU, or that of all kernels where only their sums were recorded."""
    return max((device.kernel_ns for device in document.devices), default=document.hotspots.total_ns)


def _most(run: Run, idle: Mapping[str, int]) -> int:
    """What no remedy for idle time or copies can exceed: the time in which the busiest GPU runs no kernel."""
    exposed = max((device.busy_ns - device.kernel_ns for device in run.document.devices), default=0)
    kernels = sum(row.gap_ns for row in run.document.slivers.rows)
    return sum(idle.values()) + exposed + kernels


def _with_profilers_part(finding: Finding, document: Document) -> Finding:
    """The finding, with what the profiler itself adds to what it is about: a traced launch takes the host longer."""
    collection = document.run.collection
    cost_ns = collection.launch_cost_ns if collection else None
    if not cost_ns or not document.launches.calls:
        return finding
    added_ns = round(cost_ns * document.launches.calls)
    sentence = (
        f"{format_ns(added_ns)} of the host's time is the profiler's, or more: it adds {format_ns(cost_ns)} to a "
        "launch of a small program on this machine"
    )
    return replace(finding, evidence=(*finding.evidence, sentence))


def _worded(finding: Finding, run: Run) -> Finding:
    """The finding in the words of the GPU's vendor."""
    word = run.setting.worded
    return replace(
        finding,
        title=word(finding.title),
        remedy=word(finding.remedy),
        evidence=tuple(map(word, finding.evidence)),
    )


def _with_command(finding: Finding, document: Document, shown: str) -> Finding:
    """The finding with the command that shows what the finding rests on, unless it has one of its own."""
    if finding.next_command:
        return finding
    command = f"rocm-perf analyze {quote(document.label)} --show {shown}"
    return replace(finding, next_command=command)
