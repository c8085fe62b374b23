"""Idle time without pauses, which happen once: what is left of its causes, and of its long gaps."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from rocm_perf.analysis.idle.long_gaps import OUTSIDE_CALLS
from rocm_perf.model.document import Document
from rocm_perf.model.results.gaps import CauseTime, Gap, Gaps, LongGaps


def paused_causes(document: Document) -> Counter[str]:
    """What of the causes lies in pauses."""
    causes: Counter[str] = Counter()
    for gap in _gaps_in_pauses(document):
        causes.update(gap.causes)
    return causes


def without_pauses(document: Document) -> Gaps:
    """The idle time of a document without its pauses. What ranges hold of it is not known where there are any."""
    result, apart = document.gaps, _gaps_in_pauses(document)
    if not apart:
        return result
    idle_ns = result.idle_ns - sum(gap.duration_ns for gap in apart)
    causes = [left for row in result.causes if (left := _left(row, apart, idle_ns)).total_ns > 0]
    return replace(
        result,
        idle_ns=idle_ns,
        gaps=result.gaps - len(apart),
        causes=tuple(sorted(causes, key=lambda row: -row.total_ns)),
        ranges=(),
        long=_long(result.long, apart),
    )


def _gaps_in_pauses(document: Document) -> list[Gap]:
    """A pause of all GPUs is, or lies within, an idle time of each."""
    origin = document.phases.origin_ns
    pauses = [(pause.start_ns + origin, pause.end_ns + origin) for pause in document.phases.pauses]
    return [
        gap
        for gap in document.gaps.worst
        if any(gap.start_ns <= since and until <= gap.end_ns for since, until in pauses)
    ]


def _left(row: CauseTime, apart: list[Gap], idle_ns: int) -> CauseTime:
    """What gaps other than these have of the cause."""
    parts = [part for gap in apart if (part := gap.causes.get(row.cause, 0))]
    total_ns = row.total_ns - sum(parts)
    share = total_ns / idle_ns if idle_ns > 0 else 0.0
    return replace(row, total_ns=total_ns, gaps=row.gaps - len(parts), share=share)


def _long(long: LongGaps, apart: list[Gap]) -> LongGaps:
    parts = [part for gap in apart if (part := sum(gap.causes.get(cause, 0) for cause in OUTSIDE_CALLS))]
    return LongGaps(gaps=max(long.gaps - len(parts), 0), host_ns=max(long.host_ns - sum(parts), 0))
