"""Which processes ran together: those whose times overlap, ranks of one job, whatever their clocks show, and what
other tools or machines recorded of the same program. What cannot belong together never becomes one run."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.ingest.kernel_names import kernel_key
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
    def clocks(self) -> set[tuple[str | None, str]]:
        return {(group.host, group.clock) for group in self.groups}

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
    """Processes on one clock, joined where their times overlap. Boot clocks of machines that are not known may be of
    several, so there the GPUs and kernels must not speak against it."""
    jobs: list[_Job] = []
    for group in groups:
        at_its_time = (job for job in reversed(jobs) if group.start <= job.span[1])
        home = next((job for job in at_its_time if group.host or may_be_one(job.groups[:1], [group])), None)
        if home is None:
            jobs.append(home := _Job())
        home.groups.append(group)
    return jobs


def may_be_one(some: list[Group], others: list[Group]) -> bool:
    """Whether nothing speaks against one run: neither other GPUs, nor other kernels in what another tool recorded."""
    kinds, other_kinds = _gpu_kinds(some), _gpu_kinds(others)
    if kinds and other_kinds and not kinds & other_kinds:
        return False
    if _tools(some) & _tools(others):
        return True
    return not kernels_of(some) or not kernels_of(others) or common_kernels(some, others) > 0


def share_kernels(some: list[Group], others: list[Group]) -> bool:
    """Whether at least half of the kernels of one are among those of the other: a tool may have recorded fewer."""
    fewer = min(len(kernels_of(some)), len(kernels_of(others)))
    return 0 < fewer <= 2 * common_kernels(some, others)


def common_kernels(some: list[Group], others: list[Group]) -> int:
    """Return how many kernels both list. Two tools may spell the name of one kernel differently."""
    kernels, other_kernels = kernels_of(some), kernels_of(others)
    common = len(kernels & other_kernels)
    if 2 * common >= min(len(kernels), len(other_kernels)) or _tools(some) & _tools(others):
        return common
    return len({kernel_key(name) for name in kernels} & {kernel_key(name) for name in other_kernels})


def kernels_of(groups: list[Group]) -> frozenset[str]:
    """The kernels that the groups list."""
    return frozenset(name for group in groups for name in group.kernels)


def _gpu_kinds(groups: list[Group]) -> frozenset[str]:
    return frozenset(kind for group in groups for kind in group.gpu_kinds)


def _tools(groups: list[Group]) -> frozenset[str]:
    return frozenset(tool for group in groups for tool in group.tools)


def _place(clusters: list[_Job], jobs: list[_Job], *, first: bool) -> None:
    """Add clusters on one clock to the jobs that they are part of, or as jobs of their own."""
    for number, cluster in enumerate(clusters):
        hosts = [job for job in jobs if _are_ranks_of_one(job, cluster)]
        if not hosts and not first:
            hosts = [job for job in jobs if _are_one_program(job, cluster)]
        if hosts:
            _nearest(hosts, jobs[number : number + 1], cluster).groups.extend(cluster.groups)
        else:
            jobs.append(cluster)


def _are_one_program(job: _Job, other: _Job) -> bool:
    """Whether two recordings on different clocks are of one program: what two tools recorded of it on one machine, or
    what one tool recorded on several."""
    if job.clocks & other.clocks or not may_be_one(job.groups, other.groups):
        return False
    if job.ranks and other.ranks and job.ranks != other.ranks:
        return False
    hosts, others = ({host for host, _ in one.clocks if host} for one in (job, other))
    if hosts and others and not hosts & others:
        return _on_several_machines(job, other)
    kinds = {clock for _, clock in job.clocks | other.clocks}
    if len(kinds) == 1 and _apart_ns(job, other) > (_MOST_APART_NS if kinds == {"epoch"} else 0):
        return False
    unlike = not share_kernels(job.groups, other.groups)
    if unlike and kernels_of(job.groups) and kernels_of(other.groups):
        return False
    is_another_tool = not _tools(job.groups) & _tools(other.groups)
    return _name_one_process(job, other) or len(kinds) == 1 or (is_another_tool and not unlike)


def _on_several_machines(job: _Job, other: _Job) -> bool:
    """Whether one tool recorded the same kernels on two machines, in one folder and, if dates say so, at one time.
    Where no kernels are listed, nothing speaks against it."""
    roots, other_roots = ({group.place.root for group in one.groups} for one in (job, other))
    is_one_tool = bool(_tools(job.groups) & _tools(other.groups))
    lists_none = not kernels_of(job.groups) and not kernels_of(other.groups)
    if not (is_one_tool and roots & other_roots and (lists_none or share_kernels(job.groups, other.groups))):
        return False
    dated = all(clock == "epoch" for _, clock in job.clocks | other.clocks)
    return not dated or _apart_ns(job, other) <= _MOST_APART_NS


def _name_one_process(job: _Job, other: _Job) -> bool:
    """Whether both name the same process: by its number, or by the name of the files."""
    pids, other_pids = ({pid for group in one.groups for pid in group.pids} for one in (job, other))
    names, other_names = ({group.place.set_key for group in one.groups} for one in (job, other))
    return bool(pids & other_pids or names & other_names)


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
