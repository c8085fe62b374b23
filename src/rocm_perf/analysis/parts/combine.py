"""The documents of consecutive windows of one recording as one document."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

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
from rocm_perf.analysis.verdict.findings import in_order
from rocm_perf.analysis.verdict.ranking import KERNEL_KINDS
from rocm_perf.analysis.verdict.scorecard import gap_share, memory_growth, scores
from rocm_perf.analysis.verdict.themed import WORTH
from rocm_perf.model.coverage import Coverage
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.time_window import TimeWindow, moment_of

# Of these only the part with most GPU time is shown: they are about repetition and shape, not about sums.
OF_ONE_PART = (
    "steps, serving, slivers, steady copies, communication, ranks, operators, queue lengths, modules, layers, step "
    "breakdown, use of the GPU, roofline, bottlenecks, metrics, instructions, graphs, ranges, memory and energy"
)
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
        launches=all_launches([document.launches for document in documents]),
        path=all_paths([document.path for document in documents]),
        scorecard=scores(
            gemm_share=families.gemm_share,
            sync_share=sync.lost_share,
            gap_share=gap_share(devices),
            memory_growth=memory_growth(shown.memory),
        ),
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
    startup = [finding for finding in merged if finding.kind == "startup" and finding not in doubtful]
    others = [finding for finding in merged if finding not in (*doubtful, *startup)]
    worthy = [finding for finding in others if _is_worthy(finding, document)]
    return in_order(worthy, document, doubtful=doubtful, startup=startup)


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
