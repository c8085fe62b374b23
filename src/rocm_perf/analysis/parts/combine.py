"""The documents of consecutive windows of one recording as one document."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from rocm_perf.analysis.ledger.entries import all_ledgers
from rocm_perf.analysis.parts.adding import added, added_counts, as_one
from rocm_perf.analysis.parts.idle import all_gaps, all_paths
from rocm_perf.analysis.parts.times import (
    all_copies,
    all_devices,
    all_domains,
    all_families,
    all_hotspots,
    all_launches,
    all_waiting,
)
from rocm_perf.analysis.verdict.doubts import DOUBTS
from rocm_perf.analysis.verdict.findings import Beside, in_order
from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS
from rocm_perf.analysis.verdict.scorecard import gap_share, memory_growth, scores
from rocm_perf.analysis.verdict.worth import WORTH
from rocm_perf.model.coverage import Coverage
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.clocks import Clocks, RankClock
from rocm_perf.model.results.phases import Pause, Phase, PhaseName, Phases
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.time_window import TimeWindow, moment_of

# Of these only the part with most GPU time is shown: they are about repetition and shape, not about sums.
OF_ONE_PART = (
    "steps, serving, slivers, steady copies, communication, ranks, operators, queue lengths, modules, layers, step "
    "breakdown, use of the GPU, roofline, bottlenecks, metrics, instructions, graphs, ranges, memory and energy"
)
_ONE_LENGTH = 0.25  # of the shorter of two steps: the steps of one loop differ by less
_SHORT_PAUSE = 0.02  # of the work: shorter ones are none
_COUNTS = (
    "dispatched",
    "launched",
    "paired",
    "launches_without_kernels",
    "kernels_without_launches",
    "missing",
    "replayed",
    "captured",
)


def combined(parts: Sequence[tuple[TimeWindow, Document]]) -> Document:
    """One document of all parts: sums over all of them; what cannot be added up, from the part with most of it."""
    documents = [document for _, document in parts]
    fullest, shown = max(parts, key=lambda part: part[1].hotspots.total_ns)
    devices = all_devices([document.devices for document in documents])
    families = all_families([document.families for document in documents])
    sync = all_waiting([document.sync for document in documents])
    wall = sum(document.wall_ns or 0 for document in documents)
    projections = _projections(documents, wall)
    document = replace(
        shown,
        run=replace(shown.run, window=None, notices=(*_notices(len(parts), fullest), *shown.run.notices[1:])),
        tables=_tables(documents),
        wall_ns=wall,
        devices=devices,
        queues=all_devices([document.queues for document in documents]),
        hotspots=all_hotspots([document.hotspots for document in documents]),
        families=families,
        domains=all_domains([document.domains for document in documents]),
        copies=all_copies([document.copies for document in documents]),
        sync=sync,
        gaps=all_gaps([document.gaps for document in documents]),
        ledger=all_ledgers([document.ledger for document in documents]),
        launches=all_launches([document.launches for document in documents]),
        path=all_paths([document.path for document in documents]),
        scorecard=scores(
            gemm_share=families.gemm_share,
            sync_share=sync.lost_share,
            gap_share=gap_share(devices),
            memory_growth=memory_growth(shown.memory),
        ),
        phases=_phases([document.phases for document in documents]),
        clocks=_clocks([document.clocks for document in documents]),
        coverage=_coverage([document.coverage for document in documents]),
        sanity=added([document.sanity for document in documents], ("id",), ("time_at_stake_ns",)),
        projections=projections,
    )
    return replace(document, findings=_findings(parts, document))


def of_window(document: Document, window: TimeWindow) -> Document:
    """The document of a window, whose commands ask for the same window again."""
    return asking_again(document, f"--window {window}")


def asking_again(document: Document, options: str) -> Document:
    """The document, whose commands repeat the options that it was made with."""
    findings = tuple(_with_options(finding, options) for finding in document.findings)
    return replace(document, findings=findings)


def _with_options(finding: Finding, options: str) -> Finding:
    if not finding.next_command.startswith("rocm-perf analyze "):
        return finding
    return replace(finding, next_command=f"{finding.next_command} {options}")


def _notices(count: int, fullest: TimeWindow) -> tuple[str, str]:
    return (
        f"analysed in {count} parts and added up; medians are those of one part",
        f"of the window {fullest} alone: {OF_ONE_PART}",
    )


def _phases(parts: Sequence[Phases]) -> Phases:
    """The phases of the whole. The parts were divided one by one, and their bounds mean nothing: what repeats in
    consecutive parts with steps of about one length is one steady state, and the longest such stretch is judged."""
    divided = [part for part in parts if part.judged is not None]
    if not divided:
        return parts[0]
    first = divided[0]
    origin = min(part.origin_ns for part in parts)
    steady = max(_steady_stretches(divided), key=_length, default=[])
    judged = steady or divided
    start, end = _bound(judged[0], origin)[0], _bound(judged[-1], origin)[1]
    last_end = max(part.origin_ns + part.rows[-1].end_ns for part in parts if part.rows) - origin
    before = first.phase("before")
    working = before.end_ns + first.origin_ns - origin if before else 0
    name: PhaseName = "steady" if steady else "work"
    bounds: list[tuple[PhaseName, int, int]] = [
        ("before", 0, min(working, start)),
        ("start-up", min(working, start), start),
        (name, start, end),
        ("end", end, last_end),
    ]
    others = [part for part in divided if part not in judged]
    inside = sum(part.judged.duration_ns for part in steady if part.judged)
    shortest = _SHORT_PAUSE * (end - start)
    return Phases(
        rows=tuple(Phase(row, since, until) for row, since, until in bounds if until > since),
        origin_ns=origin,
        found_by=_found_by(parts, judged, is_steady=bool(steady)),
        steps=sum(part.steps for part in steady),
        step_ns=_median_of([part.step_ns for part in judged]),
        kernels_per_step=_median_of([part.kernels_per_step for part in judged]),
        carried_over=first.carried_over,
        pauses=() if steady else tuple(one for part in parts for one in _pauses(part, origin, shortest)),
        waited=first.waited,
        other_steps=sum(part.other_steps for part in parts) + sum(part.steps for part in others),
        other_steps_ns=sum(_steps_ns(part) for part in others if part.origin_ns < judged[0].origin_ns),
        uncounted_ns=end - start - inside if steady else 0,
    )


def _steady_stretches(parts: Sequence[Phases]) -> list[list[Phases]]:
    """Consecutive parts that repeat, with steps of about one length and as many kernels in each."""
    stretches: list[list[Phases]] = [[]]
    for part in parts:
        if stretches[-1] and not _go_on(stretches[-1][-1], part):
            stretches.append([])
        if part.steps:
            stretches[-1].append(part)
    return [stretch for stretch in stretches if stretch]


def _go_on(before: Phases, after: Phases) -> bool:
    """Return whether the steps of one part continue in the next."""
    lengths = [part.step_ns.value for part in (before, after)]
    if not after.steps or None in lengths:
        return False
    shorter, longer = sorted(length for length in lengths if length is not None)
    return longer <= (1 + _ONE_LENGTH) * shorter


def _length(stretch: Sequence[Phases]) -> int:
    return _bound(stretch[-1], 0)[1] - _bound(stretch[0], 0)[0]


def _bound(part: Phases, origin: int) -> tuple[int, int]:
    """When what is judged in a part begins and ends, from the origin on."""
    judged = part.judged
    assert judged is not None
    return part.origin_ns + judged.start_ns - origin, part.origin_ns + judged.end_ns - origin


def _steps_ns(part: Phases) -> int:
    return part.judged.duration_ns if part.steps and part.judged else 0


def _pauses(part: Phases, origin: int, shortest_ns: float) -> list[Pause]:
    """The pauses of a part that are long beside the whole as well, from the origin on."""
    moved = part.origin_ns - origin
    return [
        replace(pause, start_ns=pause.start_ns + moved, end_ns=pause.end_ns + moved)
        for pause in part.pauses
        if pause.duration_ns > shortest_ns
    ]


def _found_by(parts: Sequence[Phases], judged: Sequence[Phases], *, is_steady: bool) -> str:
    if len(judged) == len(parts) or not is_steady:
        return f"in each of {len(parts)} parts by itself, {judged[0].found_by}"
    return f"in {len(judged)} of {len(parts)} parts, each by itself, {judged[0].found_by}"


def _median_of(values: Sequence[Quantity]) -> Quantity:
    known = [value.value for value in values if value.value is not None]
    if not known:
        return values[0]
    formula = f"median over the parts of: {values[0].formula}"
    return Quantity(median(known), values[0].unit, formula, {"parts": len(known)})


def _clocks(parts: Sequence[Clocks]) -> Clocks:
    """The clocks of all parts: each part aligned them by itself, so the worst error and any failure count."""
    known = [part for part in parts if part.rows]
    if not known:
        return parts[0]
    of_rank: dict[tuple[int | None, int | None, str], list[RankClock]] = {}
    for row in (row for part in known for row in part.rows):
        of_rank.setdefault((row.rank, row.pid, row.machine), []).append(row)
    rows = tuple(_clock(rows) for rows in of_rank.values())
    errors = [row.error_ns for row in rows if row.error_ns is not None and row.reason is None]
    return Clocks(rows, max(errors, default=None), max(part.apart for part in known))


def _clock(rows: Sequence[RankClock]) -> RankClock:
    """The clock of one rank: moved as in the part with most of its collectives, as certain as in the worst one."""
    errors = [row.error_ns for row in rows if row.error_ns is not None]
    return replace(
        max(rows, key=lambda row: row.collectives),
        error_ns=max(errors, default=None),
        collectives=sum(row.collectives for row in rows),
        reason=next((row.reason for row in rows if row.reason), None),
    )


def _coverage(parts: Sequence[Coverage]) -> Coverage:
    """The counts of all parts; what the file lost is the same in each."""
    return replace(
        as_one(parts, _COUNTS),
        recorded=added_counts(part.recorded for part in parts),
        holes=added([part.holes for part in parts], ("id",), ("time_at_stake_ns",)),
    )


def _tables(documents: Sequence[Document]) -> dict[str, int]:
    """The rows of each table: added up where a part has only its own, the same in every part elsewhere."""
    names = dict.fromkeys(name for document in documents for name in document.tables)
    counts = {name: [document.tables.get(name, 0) for document in documents] for name in names}
    return {name: sum(rows) if moment_of(name) else max(rows) for name, rows in counts.items()}


def _projections(documents: Sequence[Document], wall_ns: int) -> tuple[Projection, ...]:
    """What each change would bring in all parts together."""
    rows = added([document.projections for document in documents], ("change",), ("saved_ns", "profiler_ns"))
    return tuple(
        replace(
            row,
            recorded_wall_ns=wall_ns,
            wall_ns=wall_ns - row.profiler_ns - row.saved_ns,
            speedup=_speedup(row.speedup, wall_ns - row.profiler_ns, row.saved_ns),
        )
        for row in rows
    )


def _findings(parts: Sequence[tuple[TimeWindow, Document]], document: Document) -> tuple[Finding, ...]:
    """Findings of all parts with what they cost together, in the order of the whole; evidence and wording are of the
    part where it is most."""
    busiest_first = sorted(parts, key=lambda part: -part[1].hotspots.total_ns)
    located = [[_located(finding, window) for finding in one.findings] for window, one in busiest_first]
    seen = list(dict.fromkeys(finding.id for findings in located for finding in findings))
    merged = sorted(
        (_of_all(one, document.wall_ns or 0) for one in added(located, ("id",), ("time_at_stake_ns",))),
        key=lambda one: seen.index(one.id),  # kernels by their time
    )
    doubtful = [finding for finding in merged if finding.id in DOUBTS]
    startup = [finding for finding in merged if finding.id == "startup"]
    others = [finding for finding in merged if finding not in (*doubtful, *startup)]
    worthy = [finding for finding in others if _is_worthy(finding, document)]
    return in_order(worthy, document, Beside(doubts=doubtful, startup=startup))


def _is_worthy(finding: Finding, document: Document) -> bool:
    """Whether it is more than a moment of one part; that nothing is to gain is told of all parts, or not at all."""
    if finding.kind == "nothing-to-gain":
        return False
    stake = finding.time_at_stake_ns
    return stake is None or finding.kind in KERNEL_KINDS or stake >= WORTH * document.judged_ns


def _located(finding: Finding, window: TimeWindow) -> Finding:
    """The finding with the window that its evidence is about."""
    if not finding.evidence:
        return finding
    first, *others = finding.evidence
    return replace(finding, evidence=(f"in the window {window} alone, {first}", *others))


def _of_all(finding: Finding, wall_ns: int) -> Finding:
    speedup = finding.projected_speedup
    if speedup is None or "recorded_wall_ns" not in speedup.inputs:
        return finding
    return replace(finding, projected_speedup=_speedup(speedup, wall_ns, finding.time_at_stake_ns or 0))


def _speedup(of_part: Quantity, wall_ns: int, saved_ns: int) -> Quantity:
    left = wall_ns - saved_ns
    if not of_part.known or left <= 0:
        return of_part
    return replace(of_part, value=wall_ns / left, inputs={"recorded_wall_ns": wall_ns, "wall_ns": left})
