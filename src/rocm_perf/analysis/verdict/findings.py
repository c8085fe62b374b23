"""What to do next: the findings of all topics, each with what its remedy would bring; at most ten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

import msgspec

from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.path.changes import Change, CopiesAsync, SyncsRemoved
from rocm_perf.analysis.path.joined import Captured, Fused
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.path.wrappers import sync_wrappers
from rocm_perf.errors import UsageError
from rocm_perf.model.document import TOPICS, Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.topic import resolve
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns

MOST = 10
_GAP = "gap-"  # findings about idle time: their times do not overlap
_WORTH = 0.01  # of the wall: what a change must save to be proposed


@dataclass(frozen=True)
class _Run:
    """The run that changes are applied to."""

    document: Document
    graph: Graph
    trace: Trace


@dataclass(frozen=True)
class _Theme:
    """Findings with one remedy, which are shown as one. `show` is the section that holds the evidence."""

    members: tuple[str, ...]
    change: Callable[[_Run], Change | None]
    show: str


def _fused(run: _Run) -> Change | None:
    rows = run.document.slivers.rows
    return Fused(rows[0].kernels) if rows else None


_THEMES = (
    _Theme(
        ("sync-after-every-kernel", "gap-host-sync"),
        lambda run: SyncsRemoved(sync_wrappers(run.trace, run.graph)),
        "sync,gaps",
    ),
    _Theme(
        ("launch-bound", "gap-framework", "gap-launch-latency", "gap-host-api", "gap-queue-gap"),
        lambda _: Captured(),
        "gaps,launches",
    ),
    _Theme(("copies-in-steady-state", "gap-copy"), lambda _: CopiesAsync(overlapped=True), "copies"),
    _Theme(("slivers",), _fused, "steps"),
)
_HOST_BOUND = frozenset({*_THEMES[1].members, "gap-host-busy"})
_THEMED = frozenset(name for theme in _THEMES for name in theme.members)


def conclusions(document: Document, trace: Trace) -> tuple[tuple[Projection, ...], tuple[Finding, ...]]:
    """The projections that were made, and the findings, most time at stake first."""
    run = _Run(document, build(trace), trace)
    waiting = list(_topic_findings(document))
    projections: list[Projection] = []
    findings: list[Finding] = []
    spoken_for = 0
    for theme in _THEMES:
        members = [finding for finding in waiting if finding.id in theme.members]
        waiting = [finding for finding in waiting if finding.id not in theme.members]
        projection = _projected(run.graph, theme.change(run)) if members and not run.graph.empty else None
        if projection is not None:
            projections.append(projection)
        merged = _as_one(_in_order(members, theme), projection, spoken_for)
        findings += [_with_command(finding, document, theme.show) for finding in merged]
        spoken_for = max(spoken_for, _beyond_gaps(members, projection))
    findings += waiting
    findings = [_with_profilers_part(finding, document) for finding in findings]
    findings.sort(key=lambda finding: -(finding.time_at_stake_ns or 0))
    return tuple(projections), tuple(findings[:MOST])


def _topic_findings(document: Document) -> Iterator[Finding]:
    """What each topic finds, with the command that shows what it rests on unless a theme knows a better one."""
    for topic in TOPICS:
        if topic.findings:
            for finding in resolve("rocm_perf.analysis", topic.findings)(document):
                shown = "" if finding.id in _THEMED else topic.shown_by
                yield _with_command(finding, document, shown) if shown else finding


def _with_profilers_part(finding: Finding, document: Document) -> Finding:
    """The finding, with what the profiler itself adds to what it is about: a traced launch takes the host longer."""
    collection = document.run.collection
    cost_ns = collection.launch_cost_ns if collection else None
    if finding.id not in _HOST_BOUND or not cost_ns or not document.launches.calls:
        return finding
    added_ns = round(cost_ns * document.launches.calls)
    sentence = (
        f"{format_ns(added_ns)} of the host's time is the profiler's, or more: it adds {format_ns(cost_ns)} to a "
        "launch of a small program on this machine"
    )
    return msgspec.structs.replace(finding, evidence=(*finding.evidence, sentence))


def _in_order(members: Sequence[Finding], theme: _Theme) -> list[Finding]:
    return sorted(members, key=lambda finding: theme.members.index(finding.id))


def _projected(graph: Graph, change: Change | None) -> Projection | None:
    """None where the change has nothing to act on in this recording."""
    if change is None:
        return None
    try:
        projection = whatif(graph, change)
    except UsageError:
        return None
    return projection if projection.saved_ns else None


def _as_one(members: list[Finding], projection: Projection | None, spoken_for: int) -> list[Finding]:
    """One finding with the evidence of all. One whose remedy would bring next to nothing is left out.

    Without a projection the idle time is at stake, less what the remedy of another finding would already save.
    """
    if not members or (projection and projection.saved_ns < _WORTH * projection.recorded_wall_ns):
        return []
    members = sorted(members, key=lambda member: -(member.time_at_stake_ns or 0))
    idle = max(_idle(members) - spoken_for, 0)
    evidence = dict.fromkeys(line for member in members for line in member.evidence)
    return [
        msgspec.structs.replace(
            members[0],
            evidence=tuple(evidence),
            time_at_stake_ns=projection.saved_ns if projection else idle or members[0].time_at_stake_ns,
            projected_speedup=projection.speedup if projection else members[0].projected_speedup,
        )
    ]


def _idle(members: list[Finding]) -> int:
    return sum(member.time_at_stake_ns or 0 for member in members if member.id.startswith(_GAP))


def _beyond_gaps(members: list[Finding], projection: Projection | None) -> int:
    """What a change saves beyond the idle time that its own findings are about."""
    return max(projection.saved_ns - _idle(members), 0) if projection else 0


def _with_command(finding: Finding, document: Document, shown: str) -> Finding:
    """The finding with the command that shows what the finding rests on, unless it has one of its own."""
    if finding.next_command:
        return finding
    command = f"rocm-perf analyze {quote(document.label)} --show {shown}"
    return msgspec.structs.replace(finding, next_command=command)
