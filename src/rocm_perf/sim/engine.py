"""The discrete-event engine: host threads call, streams run in order, kernels share the GPU, and every start knows
what it waited for.

Streams are those of HIP with hipStreamNonBlocking: in order within one, concurrent across them as long as the GPU
has room. A synchronising call returns when everything enqueued before it has ended. A collective ends on every rank
when the last rank has started it and the bytes have crossed the fabric.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocm_perf.errors import InputError
from rocm_perf.sim.gpu import SimGpu
from rocm_perf.sim.workload import Kernel, Step, Thread, Workload

START_NS = 1_000_000_000  # times start somewhere, as boot clocks do


class Call:
    """One host call."""

    __slots__ = ("domain", "end", "items", "name", "number", "previous", "released_by", "start", "thread")

    def __init__(self, number: int, name: str, domain: str, thread: HostThread, start: int, previous: Call | None) -> None:
        self.number = number
        self.name = name
        self.domain = domain
        self.thread = thread
        self.start = start
        self.end = start
        self.previous = previous
        self.released_by: Item | None = None  # the work whose end let a blocking call return
        self.items: tuple[Item, ...] = ()


class Item:
    """One thing that a stream does: a kernel, a copy, a collective, or a marker of an event."""

    __slots__ = (
        "arrival", "before", "call", "cause", "cause_item", "duration", "end", "event", "gap", "graph", "kernel", "kind",
        "name", "number", "pinned", "share", "size_bytes", "start", "stream", "waits_for",
    )  # fmt: skip

    def __init__(self, kind: str, name: str, call: Call, stream: Stream, duration: int) -> None:
        self.kind = kind
        self.name = name
        self.call = call
        self.stream = stream
        self.duration = duration
        self.number = 0
        self.arrival = 0
        self.start = -1
        self.end = -1
        self.share = 0.0
        self.gap = 0
        self.size_bytes = 0
        self.pinned = True
        self.graph = 0
        self.kernel: Kernel | None = None
        self.event: str | None = None
        self.waits_for: Item | None = None
        self.before: Item | None = None  # the one before it in its stream
        self.cause = ""  # launch, stream, event, capacity or engine: what its start waited for last
        self.cause_item: Item | None = None


class Stream:
    """One in-order queue of a GPU."""

    __slots__ = ("device", "items", "last", "name", "number", "running")

    def __init__(self, name: str, number: int, device: Device) -> None:
        self.name = name
        self.number = number
        self.device = device
        self.items: deque[Item] = deque()
        self.running = False
        self.last: Item | None = None  # last one enqueued


class Device:
    """One GPU: its streams, its room for kernels, its copy engines."""

    __slots__ = ("engines", "free", "rank", "streams", "waiting")

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.streams: dict[str, Stream] = {}
        self.free = 1.0
        self.engines = {"H2D": 1, "D2H": 1, "D2D": 1}
        self.waiting: list[Stream] = []

    def stream(self, name: str) -> Stream:
        if name not in self.streams:
            self.streams[name] = Stream(name, len(self.streams), self)
        return self.streams[name]


class HostThread:
    """One host thread and where it is in its program."""

    __slots__ = ("device", "last", "name", "number", "open_ranges", "program", "rank", "waiting_for")

    def __init__(self, thread: Thread, number: int, device: Device) -> None:
        self.name = thread.name
        self.rank = thread.rank
        self.number = number
        self.device = device
        self.program = _flatten(thread.steps)
        self.last: Call | None = None
        self.open_ranges: list[tuple[str, int]] = []
        self.waiting_for = ""


@dataclass(frozen=True)
class Range:
    """A named range of a thread."""

    name: str
    start: int
    end: int
    depth: int
    thread: HostThread


@dataclass(frozen=True)
class HostWork:
    """Time that the host spends outside of the runtime."""

    name: str
    start: int
    end: int
    thread: HostThread


@dataclass
class Run:
    """Everything that happened."""

    workload: Workload
    gpu: SimGpu
    calls: list[Call] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    host_work: list[HostWork] = field(default_factory=list)
    threads: list[HostThread] = field(default_factory=list)
    allocations: list[tuple[Call, str, int]] = field(default_factory=list)

    @property
    def wall_ns(self) -> int:
        return max((node.end for nodes in (self.calls, self.items, self.host_work) for node in nodes), default=START_NS) - START_NS


def simulate(workload: Workload, gpu: SimGpu) -> Run:
    """Run the workload to its end; raises if it can never end."""
    return _Engine(workload, gpu).run()


_THREAD, _ARRIVAL, _FINISH, _RETRY = range(4)


class _Engine:
    def __init__(self, workload: Workload, gpu: SimGpu) -> None:
        self.workload = workload
        self.gpu = gpu
        self.result = Run(workload, gpu)
        self.random = random.Random(workload.seed)
        self.now = START_NS
        self.heap: list[tuple[int, int, int, object, object]] = []
        self.order = 0
        self.events: dict[tuple[int, str], Item] = {}
        self.waiters: dict[int, list[tuple[HostThread, Call]]] = {}
        self.pending: dict[int, int] = {}
        self.dependents: dict[int, list[Stream]] = {}
        self.collectives: dict[tuple[str, int], list[Item]] = {}
        self.joined: dict[tuple[int, str], int] = {}
        self.graphs = 0
        self.noise = workload.noise
        self.cost = {name: gpu.cost_ns(name) for name in gpu.costs_us}
        self.kernel_ns = {key: gpu.kernel_ns(kernel) for key, kernel in workload.kernels.items()}
        self.shares = {key: gpu.share(kernel) for key, kernel in workload.kernels.items()}

    def run(self) -> Run:
        devices = {rank: Device(rank) for rank in self.workload.ranks}
        for number, thread in enumerate(self.workload.threads):
            host = HostThread(thread, number, devices[thread.rank])
            self.result.threads.append(host)
            self._push(self.now, _THREAD, host, None)
        heap = self.heap
        while heap:
            self.now, _, kind, subject, detail = heapq.heappop(heap)
            if kind == _THREAD:
                self._next_step(subject)  # type: ignore[arg-type]
            elif kind == _FINISH:
                self._finish(subject)  # type: ignore[arg-type]
            else:
                self._try_start(subject, detail)  # type: ignore[arg-type]
        self._refuse_deadlock()
        return self.result

    def _push(self, time: int, kind: int, subject: object, detail: object) -> None:
        self.order += 1
        heapq.heappush(self.heap, (time, self.order, kind, subject, detail))

    # Host side

    def _next_step(self, thread: HostThread) -> None:
        step = next(thread.program, None)
        if step is None:
            return
        getattr(self, f"_do_{step.verb}")(thread, step)

    def _call(self, thread: HostThread, name: str, cost: str, domain: str = "hip") -> Call:
        call = Call(len(self.result.calls) + 1, name, domain, thread, self.now, thread.last)
        call.end = self.now + self._noisy(self.cost[cost])
        thread.last = call
        self.result.calls.append(call)
        return call

    def _return(self, thread: HostThread, call: Call) -> None:
        self._push(call.end, _THREAD, thread, None)

    def _do_launch(self, thread: HostThread, step: Step) -> None:
        call = self._call(thread, "hipLaunchKernel", "launch_call")
        item = self._kernel_item(step, call, thread.device.stream(step.stream))
        call.items = (item,)
        self._enqueue(item, call.end + self.cost["launch_latency"])
        self._return(thread, call)

    def _do_graph(self, thread: HostThread, step: Step) -> None:
        call = self._call(thread, "hipGraphLaunch", "graph_call")
        self.graphs += 1
        stream = thread.device.stream(step.stream)
        arrival = call.end + self.cost["launch_latency"]
        items = []
        for inner in self.workload.graphs[step.what]:
            item = self._kernel_item(inner, call, stream) if inner.verb == "launch" else self._copy_item(inner, call, stream)
            item.gap = self.cost["graph_gap"]
            item.graph = self.graphs
            self._enqueue(item, arrival)
            items.append(item)
        call.items = tuple(items)
        self._return(thread, call)

    def _do_copy(self, thread: HostThread, step: Step) -> None:
        blocking = step.blocking or not step.pinned
        call = self._call(thread, "hipMemcpy" if blocking else "hipMemcpyAsync", "copy_call")
        item = self._copy_item(step, call, thread.device.stream(step.stream))
        call.items = (item,)
        self._enqueue(item, call.end)
        if blocking:
            self._block(thread, call, [item])
        else:
            self._return(thread, call)

    def _do_collective(self, thread: HostThread, step: Step) -> None:
        call = self._call(thread, f"nccl{step.what.title().replace('_', '')}", "launch_call", "rccl")
        item = Item("collective", step.what, call, thread.device.stream(step.stream), 0)
        item.size_bytes = step.size_bytes
        item.share = 0.1
        item.gap = self.cost["kernel_gap"]
        call.items = (item,)
        self._enqueue(item, call.end + self.cost["launch_latency"])
        self._return(thread, call)

    def _do_record(self, thread: HostThread, step: Step) -> None:
        call = self._call(thread, "hipEventRecord", "event_call")
        item = Item("marker", step.what, call, thread.device.stream(step.stream), 0)
        item.event = step.what
        self.events[thread.rank, step.what] = item
        self._enqueue(item, call.end)
        self._return(thread, call)

    def _do_wait(self, thread: HostThread, step: Step) -> None:
        call = self._call(thread, "hipStreamWaitEvent", "event_call")
        item = Item("marker", step.what, call, thread.device.stream(step.stream), 0)
        item.waits_for = self.events.get((thread.rank, step.what))
        self._enqueue(item, call.end)
        self._return(thread, call)

    def _do_sync(self, thread: HostThread, step: Step) -> None:
        names = {"stream": "hipStreamSynchronize", "device": "hipDeviceSynchronize"}
        call = self._call(thread, names.get(step.what, "hipEventSynchronize"), "sync_call")
        if step.what == "device":
            pending = [stream.last for stream in thread.device.streams.values()]
        elif step.what == "stream":
            pending = [thread.device.stream(step.stream).last]
        else:
            pending = [self.events.get((thread.rank, step.what))]
        self._block(thread, call, [item for item in pending if item is not None])

    def _do_free(self, thread: HostThread, step: Step) -> None:
        call = self._call(thread, "hipFree", "alloc_call")
        self.result.allocations.append((call, "FREE", step.size_bytes))
        pending = [stream.last for stream in thread.device.streams.values()]
        self._block(thread, call, [item for item in pending if item is not None])

    def _do_alloc(self, thread: HostThread, step: Step) -> None:
        call = self._call(thread, "hipMalloc", "alloc_call")
        self.result.allocations.append((call, "ALLOC", step.size_bytes))
        self._return(thread, call)

    def _do_cpu(self, thread: HostThread, step: Step) -> None:
        end = self.now + self._noisy(round(1000 * step.duration_us))
        self.result.host_work.append(HostWork(step.what, self.now, end, thread))
        self._push(end, _THREAD, thread, None)

    def _do_push(self, thread: HostThread, step: Step) -> None:
        thread.open_ranges.append((step.what, self.now))
        self._push(self.now + self.cost["range_call"], _THREAD, thread, None)

    def _do_pop(self, thread: HostThread, step: Step) -> None:
        if not thread.open_ranges:
            raise InputError(f"{self.workload.name}: thread {thread.name!r} pops a range that it never pushed")
        name, start = thread.open_ranges.pop()
        end = self.now + self.cost["range_call"]
        self.result.ranges.append(Range(name, start, end, len(thread.open_ranges), thread))
        self._push(end, _THREAD, thread, None)

    def _block(self, thread: HostThread, call: Call, pending: list[Item]) -> None:
        """The call returns when all of `pending` has ended."""
        unfinished = [item for item in pending if item.end < 0]
        if not unfinished:
            self._return(thread, call)
            return
        thread.waiting_for = call.name
        self.pending[id(call)] = len(unfinished)
        for item in unfinished:
            self.waiters.setdefault(id(item), []).append((thread, call))

    def _release(self, item: Item) -> None:
        """Calls that waited for this item, if it was the last that they waited for."""
        for thread, call in self.waiters.pop(id(item), ()):
            self.pending[id(call)] -= 1
            if not self.pending[id(call)]:
                del self.pending[id(call)]
                thread.waiting_for = ""
                call.released_by = item
                call.end = max(call.end, self.now + self._noisy(self.cost["sync_return"]))
                self._return(thread, call)

    # Device side

    def _kernel_item(self, step: Step, call: Call, stream: Stream) -> Item:
        kernel = self.workload.kernels[step.what]
        item = Item("kernel", kernel.name, call, stream, self._noisy(round(self.kernel_ns[step.what])))
        item.kernel = kernel
        item.share = self.shares[step.what]
        item.gap = self.cost["kernel_gap"]
        return item

    def _copy_item(self, step: Step, call: Call, stream: Stream) -> Item:
        duration = self.gpu.copy_ns(step.what, step.size_bytes, step.pinned)
        item = Item("copy", step.what, call, stream, self._noisy(round(duration)))
        item.size_bytes = step.size_bytes
        item.pinned = step.pinned
        return item

    def _enqueue(self, item: Item, arrival: int) -> None:
        stream = item.stream
        item.arrival = arrival
        item.before = stream.last
        stream.last = item
        stream.items.append(item)
        item.number = len(self.result.items) + 1
        self.result.items.append(item)
        self._push(arrival, _ARRIVAL, stream, ("launch", None))

    def _try_start(self, stream: Stream, trigger: tuple[str, Item | None]) -> None:
        """Start the first item of a stream if nothing holds it back; `trigger` is what has just changed."""
        if stream.running or not stream.items:
            return
        item = stream.items[0]
        if item.arrival > self.now:
            return
        before = item.before
        if before is not None and item.kind != "marker" and before.kind != "marker" and before.end + item.gap > self.now:
            self._push(before.end + item.gap, _RETRY, stream, ("stream", before))
            return
        awaited = item.waits_for
        if awaited is not None and awaited.end < 0:
            self.dependents.setdefault(id(awaited), []).append(stream)
            return
        if not self._take_room(item):
            if stream not in stream.device.waiting:
                stream.device.waiting.append(stream)
            return
        self._start(item, trigger)

    def _start(self, item: Item, trigger: tuple[str, Item | None]) -> None:
        item.stream.running = True
        item.start = self.now
        item.cause, item.cause_item = trigger
        if item.kind == "collective":
            self._join(item)
        else:
            self._push(self.now + item.duration, _FINISH, item, None)

    def _take_room(self, item: Item) -> bool:
        device = item.stream.device
        if item.kind == "copy":
            if not device.engines[item.name]:
                return False
            device.engines[item.name] -= 1
        elif item.share:
            if item.share > device.free + 1e-9:
                return False
            device.free -= item.share
        return True

    def _give_room(self, item: Item) -> None:
        device = item.stream.device
        if item.kind == "copy":
            device.engines[item.name] += 1
        else:
            device.free += item.share

    def _finish(self, item: Item) -> None:
        stream = item.stream
        item.end = self.now
        stream.items.popleft()
        stream.running = False
        self._give_room(item)
        self._release(item)
        for dependent in self.dependents.pop(id(item), ()):
            self._try_start(dependent, ("event", item))
        self._try_start(stream, ("stream", item))
        if item.share or item.kind == "copy":
            waiting, stream.device.waiting = stream.device.waiting, []
            for other in waiting:
                self._try_start(other, ("capacity", item))

    def _join(self, item: Item) -> None:
        """All ranks of a collective end together, once the last has started."""
        rank = item.stream.device.rank
        turn = self.joined.get((rank, item.name), 0)
        self.joined[rank, item.name] = turn + 1
        members = self.collectives.setdefault((item.name, turn), [])
        members.append(item)
        if len(members) == len(self.workload.ranks):
            transfer = round(item.size_bytes / self.gpu.copies_gbps["fabric"]) + self.cost["launch_latency"]
            end = self.now + self._noisy(transfer)
            for member in members:
                member.duration = end - member.start
                self._push(end, _FINISH, member, None)

    def _noisy(self, nanoseconds: int) -> int:
        if not self.noise:
            return nanoseconds
        return max(1, round(nanoseconds * (1 + self.random.gauss(0, self.noise))))

    def _refuse_deadlock(self) -> None:
        stuck = [thread for thread in self.result.threads if thread.waiting_for]
        unfinished = [item for item in self.result.items if item.end < 0]
        if not stuck and not unfinished:
            return
        lone = next((item for item in unfinished if item.kind == "collective" and item.start >= 0), None)
        if lone is not None:
            why = f"the collective {lone.name!r} is not called on every rank as often"
        elif stuck:
            why = f"thread {stuck[0].name!r} waits in {stuck[0].waiting_for} for work that never ends"
        else:
            why = f"{unfinished[0].name!r} waits for an event that is never reached"
        raise InputError(f"{self.workload.name} can never end (a deadlock)", why)


def _flatten(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        if step.verb == "repeat":
            for _ in range(step.times):
                yield from _flatten(step.steps)
        else:
            yield step
