"""Which processes ran together: those whose times overlap, and ranks of one job, whatever their clocks show."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.ingest.processes import Group

_MOST_APART_NS = 60 * 10**9  # clocks that show dates differ by less


class _Job(msgspec.Struct):
    """Processes that ran together."""

    groups: list[Group] = msgspec.field(default_factory=list)

    @property
    def ranks(self) -> set[int] | None:
        """The ranks of its processes; None if one has none, so that nothing can be told from ranks."""
        ranks = {group.rank for group in self.groups}
        return None if None in ranks else {rank for rank in ranks if rank is not None}

    @property
    def world_sizes(self) -> set[int]:
        return {size for group in self.groups if (size := group.world_size)}

    @property
    def span(self) -> tuple[int, int]:
        spans = [group.span for group in self.groups if group.span]
        return min(start for start, _ in spans), max(end for _, end in spans)


def jobs_of(groups: list[Group]) -> list[list[Group]]:
    """The processes of each job, in the order of the clock of the first. Times of one clock tell processes that
    followed one another apart; those of several clocks do not."""
    by_clock: dict[tuple[str | None, str], list[Group]] = {}
    for group in sorted(groups, key=lambda group: group.start):
        by_clock.setdefault((group.host, group.clock), []).append(group)
    jobs: list[_Job] = []
    for number, members in enumerate(by_clock.values()):
        _place(_overlapping(members), jobs, first=not number)
    return [job.groups for job in jobs]


def _overlapping(groups: list[Group]) -> list[_Job]:
    """Processes on one clock, joined where their times overlap."""
    jobs: list[_Job] = []
    reach = -1
    for group in groups:
        start, end = group.span or (0, 0)
        if not jobs or start > reach:
            jobs.append(_Job())
        jobs[-1].groups.append(group)
        reach = max(reach, end)
    return jobs


def _place(clusters: list[_Job], jobs: list[_Job], *, first: bool) -> None:
    """Add clusters on one clock to the jobs that they are ranks of. Without ranks, another clock belongs to the first
    job, and one clock to a job of its own."""
    for number, cluster in enumerate(clusters):
        hosts = [job for job in jobs if _are_ranks_of_one(job, cluster)]
        if hosts:
            _nearest(hosts, jobs[number : number + 1], cluster).groups.extend(cluster.groups)
        elif first or cluster.ranks:
            jobs.append(cluster)
        else:
            jobs[0].groups.extend(cluster.groups)


def _nearest(hosts: list[_Job], in_turn: list[_Job], cluster: _Job) -> _Job:
    """The job of several that a cluster belongs to: the one at its time if all show dates, else the one in its turn."""
    if all(group.clock == "epoch" for job in (*hosts, cluster) for group in job.groups):
        return min(hosts, key=lambda job: _apart_ns(job, cluster))
    return next((job for job in in_turn if job in hosts), hosts[0])


def _are_ranks_of_one(job: _Job, other: _Job) -> bool:
    """Whether the two are different ranks of one job, as far as ranks, sizes and clocks say."""
    ranks, further = job.ranks, other.ranks
    if not ranks or not further or ranks & further:
        return False
    sizes = job.world_sizes | other.world_sizes
    if len(sizes) > 1 or any(max(ranks | further) >= size for size in sizes):
        return False
    return _may_be_at_once(job, other)


def _may_be_at_once(job: _Job, other: _Job) -> bool:
    """Whether the two can have run at one time although their times may not overlap. On one machine they cannot;
    clocks that show dates do not differ by minutes; where machines are unknown, both must at least say how many ranks
    their job has."""
    hosts, others = ({group.host for group in cluster.groups} for cluster in (job, other))
    if (hosts & others) - {None}:
        return False
    if all(group.clock == "epoch" for group in (*job.groups, *other.groups)):
        return _apart_ns(job, other) <= _MOST_APART_NS
    return None not in hosts | others or bool(job.world_sizes and other.world_sizes)


def _apart_ns(job: _Job, other: _Job) -> int:
    (start, end), (other_start, other_end) = job.span, other.span
    return max(0, other_start - end, start - other_end)


def require_one_of_each_rank(groups: Iterable[Group]) -> None:
    """Raise if two recordings of one run are of the same rank: counted as one they would be wrong."""
    seen: dict[tuple[int, int | None], Group] = {}
    for group in groups:
        if group.rank is None or group.place.run or not _has_kernels(group):
            continue
        key = group.rank, group.place.pass_id
        other = seen.setdefault(key, group)
        if other is not group and _is_second(group, other):
            names = " and ".join(g.pieces[0].source.name for g in (other, group))
            raise InputError(
                f"{names} are both of rank {group.rank}",
                "they were recorded at the same time",
                "Leave one of them out.",
            )


def _has_kernels(group: Group) -> bool:
    return any("dispatches" in piece.part.tables for piece in group.pieces) and not group.only_counters


def _is_second(group: Group, other: Group) -> bool:
    """Whether two groups repeat a rank, rather than being two processes of it, or two tools that recorded it."""
    if {piece.adapter.name for piece in group.pieces} != {piece.adapter.name for piece in other.pieces}:
        return False
    pids = [{piece.part.pid or piece.place.pid for piece in g.pieces} - {None} for g in (group, other)]
    return not pids[0] or not pids[1] or bool(pids[0] & pids[1])
