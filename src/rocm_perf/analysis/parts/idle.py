"""Idle time and the critical path over all parts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rocm_perf.analysis.parts.adding import added, added_counts, pooled
from rocm_perf.model.results.gaps import Gaps, LongGaps, PlaceGaps
from rocm_perf.model.results.path import CriticalPath

_PLACE = ("level", "node", "agent_id", "queue_id", "stream_id")


def all_gaps(parts: Sequence[Gaps]) -> Gaps:
    """Idle time of all parts. Quantiles are those of the part with most gaps, the worst gaps those of all."""
    idle = sum(part.idle_ns for part in parts)
    causes = added([part.causes for part in parts], ("cause",), ("total_ns", "gaps"))
    worst = sorted((gap for part in parts for gap in part.worst), key=lambda gap: -gap.duration_ns)
    most = max(parts, key=lambda part: part.gaps)
    steps = added([part.histogram for part in parts], ("from_ns", "to_ns"), ("gaps", "total_ns"))
    return replace(
        most,
        idle_ns=idle,
        gaps=sum(part.gaps for part in parts),
        causes=tuple(replace(row, share=row.total_ns / idle if idle else 0.0) for row in causes),
        calls=added([part.calls for part in parts], ("cause", "call"), ("total_ns",)),
        first_uses=added([part.first_uses for part in parts], ("cause", "call"), ("total_ns",)),
        ranges=added([part.ranges for part in parts], ("name", "in_other_threads"), ("idle_ns", "total_ns")),
        places=_places(parts),
        longest_ns=max((part.longest_ns for part in parts if part.longest_ns is not None), default=None),
        histogram=tuple(sorted(steps, key=lambda step: step.from_ns)),
        worst=tuple(worst[: len(most.worst)]),
        sync_between=pooled([part.sync_between for part in parts]),
        long=LongGaps(
            gaps=sum(part.long.gaps for part in parts), host_ns=sum(part.long.host_ns for part in parts)
        ),
    )


def _places(parts: Sequence[Gaps]) -> tuple[PlaceGaps, ...]:
    causes: dict[tuple[object, ...], list[dict[str, int]]] = {}
    for place in (place for part in parts for place in part.places):
        causes.setdefault(_key(place), []).append(place.causes)
    rows = added([part.places for part in parts], _PLACE, ("idle_ns", "gaps"))
    return tuple(replace(row, causes=added_counts(causes[_key(row)])) for row in rows)


def _key(place: PlaceGaps) -> tuple[object, ...]:
    return tuple(getattr(place, name) for name in _PLACE)


def all_paths(parts: Sequence[CriticalPath]) -> CriticalPath:
    """The paths of all parts, one after another: where two parts meet, the path goes on with the later one."""
    total = sum(part.total_ns for part in parts)
    kernels = added(
        [part.by_kernel for part in parts],
        ("kernel",),
        ("path_ns", "dispatches", "impact_ns", "half_ns", "whole_ns"),
    )
    slack: dict[str, int] = {}
    for row in (row for part in parts for row in part.by_kernel):
        slack[row.kernel] = min(row.slack_min_ns, slack.get(row.kernel, row.slack_min_ns))
    most = max(parts, key=lambda part: part.total_ns)
    starts = [sum(part.wall_ns for part in parts[:number]) for number in range(len(parts))]
    longest = sorted(
        (
            replace(link, start_ns=link.start_ns + start)
            for part, start in zip(parts, starts, strict=True)
            for link in part.longest
        ),
        key=lambda link: -link.duration_ns,
    )
    return replace(
        most,
        total_ns=total,
        wall_ns=sum(part.wall_ns for part in parts),
        links=sum(part.links for part in parts),
        by_kind=added_counts(part.by_kind for part in parts),
        by_rank=added_counts(part.by_rank for part in parts),
        by_kernel=tuple(
            replace(
                row,
                critical_path_score=row.path_ns / total if total else 0.0,
                slack_min_ns=slack[row.kernel],
            )
            for row in kernels
        ),
        longest=tuple(longest[: len(most.longest)]),
        nodes=added_counts(part.nodes for part in parts),
        edges=tuple(
            sorted(
                added([part.edges for part in parts], ("kind", "known"), ("count", "binding")),
                key=lambda edge: (edge.kind, edge.known),
            )
        ),
        missing=tuple(dict.fromkeys(line for part in parts for line in part.missing)),
    )
