"""What each theme is worth: no more than the entries of the ledger that its remedy removes, no more than re-timing the
remedy saves, and no moment twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from shlex import quote
from typing import NamedTuple

from msgspec.structs import replace

from rocm_perf.analysis.basis.stakes import bound
from rocm_perf.analysis.ledger.idle import BEFORE_A_COPY
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.verdict.stacks import with_stacks_doubted
from rocm_perf.analysis.verdict.themes import THEMES, Run, Theme, in_other_threads
from rocm_perf.errors import UsageError
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.ledger import CAUSES, Entry
from rocm_perf.model.results.whatif import Projection
from rocm_perf.units import format_count, format_ns, format_share

WORTH = 0.02  # of the judged time: what would save less is no finding
_AT_ONCE = 2  # projections: each needs a graph of its own
_ENTRIES = 3  # that a finding rests on are told,
_PART = 0.1  # of what all of them hold: smaller ones explain nothing
_FUSED = "fusion"


def themed(run: Run, members: Sequence[Finding]) -> tuple[list[Projection], list[Finding]]:
    """Return the projections that were made, and one finding for each theme that has enough of the judged time."""
    least = WORTH * run.document.judged_ns
    themes = [theme for theme in THEMES if _most_ns(theme, run, members, retimed=True) >= max(least, 1)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        made = list(pool.map(lambda theme: _projected(run, theme), themes))
    claims = [
        _Claim(theme, projection, _most_ns(theme, run, members, retimed=projection is not None))
        for theme, projection in zip(themes, made, strict=True)
    ]
    findings = [
        _finding(claim, stake_ns, run, members)
        for claim, stake_ns in _told_once(claims, run)
        if stake_ns >= least
    ]
    return [projection for projection in made if projection], with_stacks_doubted(_one_each(findings), run)


class _Claim(NamedTuple):
    """A theme, what its change was re-timed to, and what the entries of the ledger hold that it removes."""

    theme: Theme
    projection: Projection | None
    most_ns: int

    @property
    def stake_ns(self) -> int:
        """Return what the theme could save."""
        return self.most_ns if self.projection is None else min(self.projection.saved_ns, self.most_ns)


def _most_ns(theme: Theme, run: Run, members: Sequence[Finding], *, retimed: bool) -> int:
    """Return what the entries that a theme removes hold on one GPU."""
    if theme.id == _FUSED and not any(member.id in theme.members for member in members):
        return 0
    entries = theme.claimed(run.ledger, retimed=retimed)
    return run.ledger.of_one_gpu_ns(sum(entry.total_ns for entry in entries))


def _projected(run: Run, theme: Theme) -> Projection | None:
    """Return what the change of the theme would bring; None where it has nothing to act on in this recording."""
    if run.graph.empty or (change := theme.change(run)) is None:
        return None
    try:
        projection = whatif(run.graph, change)
    except UsageError:
        return None
    return projection if projection.saved_ns else None


def _told_once(claims: Iterable[_Claim], run: Run) -> list[tuple[_Claim, int]]:
    """Return what is left of each claim when those before it have theirs: first those that were re-timed, for another
    remedy may bring what is at stake at most, and among them those that are worth most. Fused kernels come behind
    launches that are captured: they need fewer launches, too."""
    ledger, told = run.ledger, []
    spent: Counter[tuple[str, str]] = Counter()
    for claim in sorted(
        claims, key=lambda one: (one.theme.id == _FUSED, one.projection is None, -one.stake_ns)
    ):
        entries = claim.theme.claimed(ledger, retimed=claim.projection is not None)
        free = {
            (entry.cause, entry.place): max(
                ledger.of_one_gpu_ns(entry.total_ns) - spent[entry.cause, entry.place], 0
            )
            for entry in entries
        }
        stake_ns = min(claim.stake_ns, sum(free.values()))
        left = stake_ns
        for place, ns in sorted(free.items(), key=lambda item: -item[1]):
            taken = min(ns, left)
            spent[place] += taken
            left -= taken
        told.append((claim, stake_ns))
    return told


def _finding(claim: _Claim, stake_ns: int, run: Run, members: Sequence[Finding]) -> Finding:
    """Return the finding about a theme: what its entries are, and what its remedy saves."""
    theme, projection, document = claim.theme, claim.projection, run.document
    claimed = theme.claimed(run.ledger, retimed=projection is not None)
    title, remedy = theme.words(run, claimed)
    own = [member for member in members if member.id in theme.members]
    least = _PART * sum(entry.total_ns for entry in claimed)
    large = [entry for entry in claimed[:_ENTRIES] if entry.total_ns >= least] or claimed[:_ENTRIES]
    evidence = [] if theme.id == _FUSED else [_evidence(entry, run) for entry in large]
    evidence += [line for member in own for line in member.evidence]
    if theme.kind == "host-bound" and (added := _profilers_part(document)):
        evidence.append(added)
    speedup = None
    if projection is not None:
        whole = stake_ns == projection.saved_ns
        speedup = projection.speedup if whole else bound(document.judged_ns, stake_ns)
    finding = Finding(
        id=theme.id,
        severity="info" if theme.kind == "unrecorded-work" else "warning",
        kind=theme.kind,
        title=title,
        remedy=remedy,
        evidence=tuple(dict.fromkeys(evidence)),
        time_at_stake_ns=stake_ns,
        projected_speedup=speedup,
    )
    return with_command(finding, document, theme.show)


def _evidence(entry: Entry, run: Run) -> str:
    """Return one line about an entry: how much time it is, of which, and what it consists of."""
    ledger = run.ledger
    spent = format_ns(ledger.of_one_gpu_ns(entry.total_ns))
    words = CAUSES.get(entry.cause, entry.cause)
    where = _where(entry, run.document)
    if entry.kind != "idle":
        return f"{words}{where}: {spent}, {format_share(entry.share)} of the judged time"
    share = format_share(entry.total_ns / max(ledger.idle_ns, 1))
    inside = [
        f"{format_ns(ledger.of_one_gpu_ns(ns))} {name}" for name, ns in list(entry.parts.items())[:_ENTRIES]
    ]
    parts = f" ({', '.join(inside)})" if inside else ""
    return f"{words}{where}: {spent} in {format_count(entry.count, 'gap')}, {share} of the idle time{parts}"


def _where(entry: Entry, document: Document) -> str:
    if not entry.place or entry.kind == "copy":
        return ""
    if entry.cause == "launching" or entry.place == BEFORE_A_COPY:
        return f" {entry.place}"
    inside = "other threads are in" if in_other_threads(document, entry.place) else "in"
    return f", {inside} {entry.place}"


def with_command(finding: Finding, document: Document, shown: str) -> Finding:
    """Return the finding with the command that shows what it rests on, unless it has one of its own."""
    if finding.next_command:
        return finding
    command = f"rocm-perf analyze {quote(document.label)} --show {shown}"
    return replace(finding, next_command=command)


def _one_each(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, two that say the same as one."""
    kept: dict[str, Finding] = {}
    for finding in findings:
        same = kept.get(finding.title)
        kept[finding.title] = _both(same, finding) if same else finding
    return list(kept.values())


def _both(first: Finding, second: Finding) -> Finding:
    stakes = [finding.time_at_stake_ns or 0 for finding in (first, second)]
    evidence = tuple(dict.fromkeys((*first.evidence, *second.evidence)))
    return replace(first, evidence=evidence, time_at_stake_ns=sum(stakes), projected_speedup=None)


def _profilers_part(document: Document) -> str:
    """Return what the profiler itself adds to launches, where that is known: a traced launch takes the host longer."""
    collection = document.run.collection
    if collection is None or not collection.launch_cost_ns or not document.launches.calls:
        return ""
    cost_ns = collection.launch_cost_ns
    graphs, in_graph_ns = document.launches.graphs, collection.graph_kernel_cost_ns or 0
    further = graphs.dispatches - graphs.calls if graphs else 0
    added_ns = round(cost_ns * document.launches.calls + in_graph_ns * further)
    and_graphs = (
        f", and {format_ns(in_graph_ns)} for each kernel of a graph" if in_graph_ns and further else ""
    )
    return (
        f"{format_ns(added_ns)} of the host's time is the profiler's, or more: it adds {format_ns(cost_ns)} to a "
        f"launch of a small program on this machine{and_graphs}; that is not counted as gained"
    )
