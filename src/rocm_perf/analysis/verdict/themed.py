"""Findings of one theme as one, each worth what re-timing its remedy saves; time that two would save is told once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from shlex import quote

from msgspec.structs import replace

from rocm_perf.analysis.basis.stakes import bound
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.verdict.recurring import recurring_idle
from rocm_perf.analysis.verdict.stacks import with_stacks_doubted
from rocm_perf.analysis.verdict.themes import THEMES, Run, Theme, exposed_copies_ns
from rocm_perf.errors import UsageError
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.whatif import Projection
from rocm_perf.units import format_ns

_AT_ONCE = 2  # projections: each needs a graph of its own
WORTH = 0.03  # of the judged time: what a change must save to be proposed, and kernels take to be looked at


def themed(run: Run, members: Sequence[Finding]) -> tuple[list[Projection], list[Finding]]:
    """The projections that were made, and one finding for each theme that has members."""
    findings: list[Finding] = []
    if _most(run, recurring_idle(run.document)) < WORTH * run.document.judged_ns:
        return [], []  # whatever the remedy, it saves too little to be timed again
    own = {theme.id: [finding for finding in members if finding.id in theme.members] for theme in THEMES}
    themes = [theme for theme in THEMES if own[theme.id]]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        made = list(pool.map(lambda theme: _projected(run, theme), themes))
    for theme, projection in zip(themes, made, strict=True):
        findings += _as_one(run, theme, own[theme.id], projection)
    told = with_stacks_doubted(_told_once(findings, run), run)
    return [projection for projection in made if projection], told


def with_command(finding: Finding, document: Document, shown: str) -> Finding:
    """The finding with the command that shows what the finding rests on, unless it has one of its own."""
    if finding.next_command:
        return finding
    command = f"rocm-perf analyze {quote(document.label)} --show {shown}"
    return replace(finding, next_command=command)


def _projected(run: Run, theme: Theme) -> Projection | None:
    """What the change of the theme would bring; None where it has nothing to act on in this recording."""
    if run.graph.empty or (change := theme.change(run)) is None:
        return None
    try:
        projection = whatif(run.graph, change)
    except UsageError:
        return None
    return projection if projection.saved_ns else None


def _as_one(run: Run, theme: Theme, members: list[Finding], projection: Projection | None) -> list[Finding]:
    """One finding with the evidence of all. One whose remedy would bring next to nothing is left out.

    Without a projection the idle time that recurs is at stake, at most.
    """
    stake = projection.saved_ns if projection else theme.idle(run, theme)
    stake = min(stake, _most(run, recurring_idle(run.document)))
    speedup = projection.speedup if projection and stake == projection.saved_ns else None
    if theme.most and stake > (most_ns := theme.most(run)):
        stake, speedup = most_ns, bound(run.document.judged_ns, most_ns) if projection else None
    if stake < WORTH * run.document.judged_ns:
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
        projected_speedup=speedup,
    )
    merged = _with_profilers_part(merged, run.document) if theme.kind == "host-bound" else merged
    return [with_command(merged, run.document, theme.show)]


def _told_once(findings: Sequence[Finding], run: Run) -> list[Finding]:
    """The findings, each with what those before it leave of the time without kernels: first those that were re-timed,
    for what is at stake at most may be what another remedy brings, and among them those that are worth most. Two that
    say the same are one."""
    left = _most(run, recurring_idle(run.document))
    kept: dict[str, Finding] = {}
    for finding in sorted(
        findings, key=lambda one: (not one.projected_speedup, -(one.time_at_stake_ns or 0))
    ):
        stake = min(finding.time_at_stake_ns or 0, left)
        if stake >= WORTH * run.document.judged_ns:
            capped, same = _capped(finding, stake), kept.get(finding.title)
            kept[finding.title] = _both(same, capped) if same else capped
            left -= stake
    return list(kept.values())


def _both(first: Finding, second: Finding) -> Finding:
    """Two findings of the same words as one: what is at stake in either, and the evidence for both."""
    stakes = [finding.time_at_stake_ns or 0 for finding in (first, second)]
    evidence = tuple(dict.fromkeys((*first.evidence, *second.evidence)))
    return replace(first, evidence=evidence, time_at_stake_ns=sum(stakes), projected_speedup=None)


def _capped(finding: Finding, stake: int) -> Finding:
    """The finding with that stake; a ratio that was projected for a larger one goes."""
    whole = stake == finding.time_at_stake_ns
    return finding if whole else replace(finding, time_at_stake_ns=stake, projected_speedup=None)


def _most(run: Run, idle: Mapping[str, int]) -> int:
    """What no remedy for idle time or copies can exceed: idle time that recurs, and copies between host and GPU beside
    which nothing runs, without what the profiler makes of both."""
    return max(sum(idle.values()) + exposed_copies_ns(run) - run.graph.profiler_ns, 0)


def _with_profilers_part(finding: Finding, document: Document) -> Finding:
    """The finding, with what the profiler itself adds to what it is about: a traced launch takes the host longer."""
    collection = document.run.collection
    if collection is None or not collection.launch_cost_ns or not document.launches.calls:
        return finding
    cost_ns = collection.launch_cost_ns
    graphs, in_graph_ns = document.launches.graphs, collection.graph_kernel_cost_ns or 0
    further = graphs.dispatches - graphs.calls if graphs else 0
    added_ns = round(cost_ns * document.launches.calls + in_graph_ns * further)
    and_graphs = (
        f", and {format_ns(in_graph_ns)} for each kernel of a graph" if in_graph_ns and further else ""
    )
    sentence = (
        f"{format_ns(added_ns)} of the host's time is the profiler's, or more: it adds {format_ns(cost_ns)} to a "
        f"launch of a small program on this machine{and_graphs}; that is not counted as gained"
    )
    return replace(finding, evidence=(*finding.evidence, sentence))
