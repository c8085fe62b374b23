"""The device side of the engine: streams run in order, kernels and copies take room, and waits end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappush
from typing import Any

from rocm_perf.sim.ring import ring_ends
from rocm_perf.sim.timeline import START_NS, Call, Device, HostThread, Item, Run

_SELDOM = 0.02  # share of ends that come far later
_SELDOM_FACTOR = 30


class Scheduler:
    """Processes events in time order and advances the streams. The engine adds the host threads."""

    def __init__(self, run: Run) -> None:
        self.result = run
        self.now = START_NS
        self.heap: list[tuple[int, int, Callable[[Any], None], object]] = []
        self.order = 0
        self.waiters: dict[int, list[Call]] = {}
        self.dependents: dict[int, list[Item]] = {}
        self.collectives: dict[tuple[str, int], list[Item]] = {}
        self.joined: dict[tuple[int, str], int] = {}
        self.clock = run.gpu.clock
        self.ranks = len(run.workload.ranks)
        self.latency = run.gpu.cost_ns("launch_latency")  # of a collective without bytes

    def _advance(self, thread: HostThread) -> None:
        raise NotImplementedError

    def _at(self, time: int, act: Callable[[Any], None], subject: object) -> None:
        self.order += 1
        heappush(self.heap, (time, self.order, act, subject))

    def _enqueue(self, item: Item, arrival: int) -> None:
        stream, items = item.stream, self.result.items
        item.arrival = arrival
        item.before = stream.last
        stream.last = item
        items.append(item)
        item.number = len(items)
        stream.items.append(item)
        if len(stream.items) == 1:
            self._schedule(item)

    def _schedule(self, item: Item) -> None:
        """Schedule the first item of a stream: it can begin once it has arrived and the queue is ready."""
        ready, stream = item.arrival, item.stream
        if item.kind != "marker":
            worked = stream.worked
            if worked is not None and worked.end + item.gap > ready:
                ready = worked.end + item.gap
                item.cause, item.cause_item = "stream", worked
        before = item.before
        if before is not None and before.end > ready:
            ready = before.end
            item.cause, item.cause_item = "stream", before
        self.order += 1
        heappush(self.heap, (ready, self.order, self._begin, item))

    def _begin(self, item: Item) -> None:
        """Start an item whose turn has come, unless an event or the lack of room holds it back."""
        awaited = item.waits_for
        if awaited is not None and awaited.end < 0:
            self.dependents.setdefault(awaited.number, []).append(item)
        elif awaited is None and item.awaits:
            item.parked = True
        elif self._take_room(item):
            self._start(item)
        else:
            item.stream.device.waiting.append(item)

    def _start(self, item: Item) -> None:
        now = self.now
        item.start = now
        if item.kind == "collective":
            self._join(item)
            return
        self.order += 1
        heappush(self.heap, (now + item.duration, self.order, self._finish, item))

    def _take_room(self, item: Item) -> bool:
        device = item.stream.device
        if item.kind == "copy":
            if not device.engines[item.name]:
                return False
            device.engines[item.name] -= 1
        elif item.kind != "marker":
            wanted, free = item.share, device.free
            if free < wanted:
                if 2 * free < wanted:
                    return False
                item.share = free
                item.duration = round(item.duration * wanted / free)
            if self.clock and item.kind == "kernel":
                self._ramp(device, item, self.clock)
            device.free = free - item.share
            device.running += 1
        return True

    def _ramp(self, device: Device, item: Item, clock: Mapping[str, float]) -> None:
        """Slow the item down if the clock is still rising after a long idle time."""
        if not device.running and self.now - device.idle_since > 1000 * clock["idle_us"]:
            device.ramp_end = self.now + round(1000 * clock["ramp_us"])
        if self.now < device.ramp_end:
            item.duration = round(item.duration * clock["slowdown"])

    def _give_room(self, item: Item) -> None:
        device = item.stream.device
        if item.kind == "copy":
            device.engines[item.name] += 1
        else:
            device.running -= 1
            device.free = device.free + item.share if device.running else 1.0
            device.idle_since = self.now

    def _finish(self, item: Item) -> None:
        stream = item.stream
        item.end = self.now
        stream.items.popleft()
        if item.number in self.waiters:
            self._release(item)
        for dependent in self.dependents.pop(item.number, ()):
            dependent.cause, dependent.cause_item = "event", item
            self._start(dependent)
        if item.kind != "marker":
            stream.worked = item
            self._give_room(item)
            if stream.device.waiting:
                self._refill(stream.device, item)
        if stream.items:
            self._schedule(stream.items[0])

    def _refill(self, device: Device, ended: Item) -> None:
        """Start the items that waited for room, longest wait first."""
        waiting, device.waiting = device.waiting, []
        for item in waiting:
            if self._take_room(item):
                item.cause, item.cause_item = "capacity", ended
                self._start(item)
            else:
                device.waiting.append(item)

    def _join(self, item: Item) -> None:
        """Join a collective: once the last rank has started, its bytes are transferred and all ranks end."""
        rank = item.stream.device.rank
        turn = self.joined.get((rank, item.name), 0)
        self.joined[rank, item.name] = turn + 1
        members = self.collectives.setdefault((item.name, turn), [])
        members.append(item)
        if len(members) == self.ranks:
            for member, end in zip(members, self._ends(members), strict=True):
                member.duration = end - member.start
                member.last_member = item
                self._at(end, self._finish, member)

    def _ends(self, members: list[Item]) -> list[int]:
        """When each member ends: all together, but for slow links and the spread that was asked for."""
        transfer = max(member.duration for member in members)
        workload, fixed = self.result.workload, self.latency
        ranks = [member.stream.device.rank for member in members]
        slowness = tuple(workload.slow_links.get(rank, 1.0) for rank in workload.ranks)
        ring = dict(zip(workload.ranks, ring_ends(slowness), strict=True))
        ends = [self.now + fixed + round((transfer - fixed) * ring[rank]) for rank in ranks]
        return [end + self._late(member) for end, member in zip(ends, members, strict=True)]

    def _late(self, member: Item) -> int:
        """By how much a rank ends later than the transfer; now and then by far more."""
        mean = 1000 * self.result.workload.end_spread_us
        if not mean:
            return 0
        draw = member.call.thread.random
        seldom = _SELDOM_FACTOR if draw.random() < _SELDOM else 1
        return round(draw.expovariate(1 / (mean * seldom)))

    def _release(self, item: Item) -> None:
        """Let the calls return that waited for this item, if it was the last one they waited for."""
        for call in self.waiters.pop(item.number, ()):
            call.unfinished -= 1
            if not call.unfinished:
                call.thread.waiting_for = ""
                call.released_by = item
                call.end = max(call.issued, self.now + call.return_ns)
                self._at(call.end, self._advance, call.thread)
