"""The true answers to what an analysis asks about a recording: the engine knows what every start waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rocm_perf.sim.chain import Link, chain_to_end, chain_to_start
from rocm_perf.sim.timeline import START_NS, Activity, Call, HostWork, Item, Run

Node = Call | HostWork | Item

DEVICE_KINDS = ("kernel", "copy", "collective")
SYNC_CALLS = ("hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize")
COPY_CALLS = ("hipMemcpy", "hipMemcpyAsync")


@dataclass(frozen=True)
class Edge:
    """`effect` could not continue before `cause`.

    `kind`: program (the order of a thread), launch, stream, event, sync, collective, capacity.
    """

    kind: str
    cause: Node
    effect: Node


@dataclass(frozen=True)
class CriticalPath:
    """The links that account for the wall time, from first to last."""

    links: tuple[Link, ...]

    @property
    def total_ns(self) -> int:
        """The summed duration of the links, which is the wall time."""
        return sum(link.duration_ns for link in self.links)

    @cached_property
    def by_kind(self) -> Mapping[str, int]:
        """Nanoseconds on the path, by kind of link."""
        return self._totals("kind", self.links)

    @cached_property
    def by_kernel(self) -> Mapping[str, int]:
        """Nanoseconds on the path, by kernel."""
        return self._totals("name", [link for link in self.links if link.kind == "kernel"])

    def _totals(self, key: str, links: tuple[Link, ...] | list[Link]) -> Mapping[str, int]:
        totals: Counter[str] = Counter()
        for link in links:
            totals[getattr(link, key)] += link.duration_ns
        return totals


@dataclass(frozen=True)
class Gap:
    """An interval in which a GPU did nothing, and why: each cause with its nanoseconds, which sum to the interval.

    Causes: host_sync (the host waited, and launched too late), host_busy, host_api (calls), launch_latency, queue_gap
    (between items that were all there), copy, event (a wait for another stream), collective (another rank was late),
    tail (nothing follows).
    """

    rank: int
    start: int
    end: int
    causes: Mapping[str, int]

    @property
    def duration_ns(self) -> int:
        return self.end - self.start

    @property
    def cause(self) -> str:
        """The cause with the longest time."""
        return max(self.causes, key=lambda cause: self.causes[cause])


@dataclass(frozen=True)
class KernelWork:
    """What one kernel did in the whole run."""

    kernel: str
    launches: int
    duration_ns: int
    flops: Mapping[str, float]
    bytes: Mapping[str, float]


def dependencies(run: Run) -> Iterator[Edge]:
    """Every edge of the dependency graph."""
    activities: list[Activity] = [*run.calls, *run.host_work]
    for activity in activities:
        if activity.previous is not None:
            yield Edge("program", activity.previous, activity)
    for call in run.calls:
        for item in call.waited:
            yield Edge("sync", item, call)
    members: dict[tuple[int, int], list[Item]] = {}
    for item in run.items:
        yield from _item_edges(item)
        if item.last_member is not None:
            members.setdefault((item.last_member.number, item.end), []).append(item)
    for group in members.values():
        yield from (
            Edge("collective", member, other) for member in group for other in group if member is not other
        )


def _item_edges(item: Item) -> Iterator[Edge]:
    yield Edge("launch", item.call, item)
    if item.before is not None:
        yield Edge("stream", item.before, item)
    if item.waits_for is not None:
        yield Edge("event", item.waits_for, item)
    if item.cause == "capacity" and item.cause_item is not None:
        yield Edge("capacity", item.cause_item, item)


def critical_path(run: Run) -> CriticalPath:
    """The chain of binding causes from the last end back to the start; its links sum to the wall time exactly."""
    return CriticalPath(tuple(chain_to_end(run))[::-1])


def gap_causes(run: Run, rank: int, kinds: tuple[str, ...] = DEVICE_KINDS) -> tuple[Gap, ...]:
    """Every interval in which the GPU of a rank runs none of `kinds`, in order of time.

    With `kinds=("kernel",)` copies and collectives become causes of gaps instead of work.
    """
    items = [item for item in run.items if item.kind in kinds and item.stream.device.rank == rank]
    items.sort(key=lambda item: (item.start, item.number))
    gaps, covered = [], START_NS
    for item in items:
        if item.start > covered:
            causes = _causes(item, covered, rank)
            gaps.append(Gap(rank=rank, start=covered, end=item.start, causes=causes))
        covered = max(covered, item.end)
    if run.end_ns > covered:
        tail = {"tail": run.end_ns - covered}
        gaps.append(Gap(rank=rank, start=covered, end=run.end_ns, causes=tail))
    return tuple(gaps)


def _causes(item: Item, since: int, rank: int) -> Mapping[str, int]:
    """Nanoseconds that the start of an item waited since `since`, by cause."""
    causes: Counter[str] = Counter()
    for link in chain_to_start(item):
        causes[_cause(link, rank)] += link.end - max(since, link.start)
        if link.start <= since:
            break
    return causes


def _cause(link: Link, rank: int) -> str:
    if link.rank != rank or link.kind == "collective":
        return "collective"
    if link.kind in ("kernel", "copy"):
        return "event" if link.via_event else link.kind
    if link.kind in ("launch_latency", "queue_gap"):
        return link.kind
    if link.kind == "cpu":
        return "host_busy"
    if link.name in COPY_CALLS:
        return "copy"
    return "host_sync" if link.kind == "sync_return" or link.name in SYNC_CALLS else "host_api"


def work(run: Run) -> tuple[KernelWork, ...]:
    """The launches, time, operations and bytes of each kernel."""
    launches: Counter[str] = Counter()
    durations: Counter[str] = Counter()
    flops: dict[str, dict[str, float]] = {}
    moved: dict[str, dict[str, float]] = {}
    for item in run.items:
        if item.kernel is not None:
            launches[item.name] += 1
            durations[item.name] += item.end - item.start
            _add(flops.setdefault(item.name, {}), item.kernel.flops)
            _add(moved.setdefault(item.name, {}), item.kernel.bytes)
    return tuple(
        KernelWork(
            kernel=name, launches=count, duration_ns=durations[name], flops=flops[name], bytes=moved[name]
        )
        for name, count in launches.items()
    )


def _add(totals: dict[str, float], amounts: Mapping[str, float]) -> None:
    for name, amount in amounts.items():
        totals[name] = totals.get(name, 0.0) + amount
