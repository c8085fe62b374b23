"""The discrete-event engine: host threads call, streams run in order, kernels share the GPU, and every start knows
what it waited for.

Streams are those of HIP with hipStreamNonBlocking: in order within one, concurrent across them as long as the GPU has
room. A kernel that finds at least half of the room it needs takes what there is and runs longer. A synchronising
call returns when everything enqueued before it has ended. A wait for an event that another thread has yet to record
waits for that record. A collective ends on every rank once the last rank has started it and its bytes are transferred.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from heapq import heappop

from rocm_perf.errors import InputError
from rocm_perf.sim.gpu import SimGpu
from rocm_perf.sim.scheduler import Scheduler
from rocm_perf.sim.steps import Step, Workload
from rocm_perf.sim.timeline import START_NS, Call, Device, HostThread, HostWork, Item, Range, Run, Stream
from rocm_perf.units import format_ns

__all__ = ["START_NS", "Call", "HostThread", "HostWork", "Item", "Range", "Run", "simulate"]

COLLECTIVE_SHARE = 0.1  # of the GPU, while a collective runs
BLOCKED = -1

LONGEST_NS = 3_600_000_000_000
_SYNC_CALLS = {"stream": "hipStreamSynchronize", "device": "hipDeviceSynchronize"}


def simulate(workload: Workload, gpu: SimGpu) -> Run:
    """Run the workload to its end; raises InputError if it can never end."""
    collected = gc.isenabled()
    gc.disable()  # millions of objects that all stay alive: collecting only costs time
    try:
        return _Engine(workload, gpu).run()
    finally:
        if collected:
            gc.enable()


class _Engine(Scheduler):
    def __init__(self, workload: Workload, gpu: SimGpu) -> None:
        super().__init__(Run(workload, gpu))
        self.workload = workload
        self.gpu = gpu
        self.events: dict[tuple[int, str], Item] = {}
        self.unrecorded: dict[tuple[int, str], list[Item | Call]] = {}
        self.graphs = 0
        self.noise = workload.noise
        self.cost = {name: gpu.cost_ns(name) for name in gpu.costs_us}
        self.kernels = {
            key: (kernel, round(gpu.kernel_ns(kernel)), gpu.share(kernel))
            for key, kernel in workload.kernels.items()
        }
        self.verbs: dict[str, Callable[[HostThread, Step], int]] = {
            "launch": self._launch, "graph": self._graph, "copy": self._copy, "collective": self._collective,
            "record": self._record, "wait": self._wait, "sync": self._sync, "alloc": self._alloc, "free": self._free,
            "cpu": self._cpu, "push": self._push, "pop": self._pop,
        }  # fmt: skip

    def run(self) -> Run:
        devices = {rank: Device(rank) for rank in self.workload.ranks}
        for number, thread in enumerate(self.workload.threads):
            host = HostThread(
                thread=thread, number=number, device=devices[thread.rank], seed=self.workload.seed
            )
            self.result.threads.append(host)
            self._at(self.now, self._advance, host)
        heap = self.heap
        while heap:
            self.now, _, act, subject = heappop(heap)
            act(subject)
        self._refuse_deadlock()
        self._refuse_length()
        self.result.end_ns = self.now
        return self.result

    def _noisy(self, thread: HostThread, nanoseconds: int) -> int:
        if not self.noise:
            return nanoseconds
        return max(1, round(nanoseconds * (1 + thread.random.gauss(0, self.noise))))

    # Host side: every verb returns the time at which its thread continues, or BLOCKED

    def _advance(self, thread: HostThread) -> None:
        """Run a thread until something happens elsewhere."""
        heap, verbs = self.heap, self.verbs
        for step in thread.program:
            thread.step = step
            resume = verbs[step.verb](thread, step)
            if resume == BLOCKED:
                return
            if heap and heap[0][0] <= resume:
                self._at(resume, self._advance, thread)
                return
            self.now = resume

    def _call(self, thread: HostThread, name: str, cost: str) -> Call:
        calls, now = self.result.calls, self.now
        end = now + (self._noisy(thread, self.cost[cost]) if self.noise else self.cost[cost])
        call = Call(number=len(calls) + 1, name=name, thread=thread, start=now, end=end)
        thread.last = call
        calls.append(call)
        return call

    def _launch(self, thread: HostThread, step: Step) -> int:
        call = self._call(thread, "hipLaunchKernel", "launch_call")
        item = self._kernel_item(step, call, thread.device.stream(step.stream))
        call.items = (item,)
        self._enqueue(item, call.end + self.cost["launch_latency"])
        return call.end

    def _graph(self, thread: HostThread, step: Step) -> int:
        call = self._call(thread, "hipGraphLaunch", "graph_call")
        self.graphs += 1
        stream = thread.device.stream(step.stream)
        items: list[Item] = []
        for inner in self.workload.graphs[step.what]:
            make = self._kernel_item if inner.verb == "launch" else self._copy_item
            item = make(inner, call, stream)
            item.gap = self.cost["graph_gap" if items else "kernel_gap"]
            item.graph = self.graphs
            items.append(item)
            self._enqueue(item, call.end + self.cost["launch_latency"])
        call.items = tuple(items)
        return call.end

    def _copy(self, thread: HostThread, step: Step) -> int:
        blocking = step.blocking or not step.pinned
        call = self._call(thread, "hipMemcpy" if blocking else "hipMemcpyAsync", "copy_call")
        item = self._copy_item(step, call, thread.device.stream(step.stream))
        call.items = (item,)
        self._enqueue(item, call.end)
        return self._block(call, [item]) if blocking else call.end

    def _collective(self, thread: HostThread, step: Step) -> int:
        call = self._call(thread, f"nccl{step.what.title().replace('_', '')}", "launch_call")
        call.domain = "rccl"
        transfer = round(step.size_bytes / self.gpu.copies_gbps["fabric"]) + self.cost["launch_latency"]
        stream = thread.device.stream(step.stream)
        duration = self._noisy(thread, transfer)
        item = Item(kind="collective", name=step.what, call=call, stream=stream, duration=duration)
        item.size_bytes = step.size_bytes
        item.share = COLLECTIVE_SHARE
        item.gap = self.cost["kernel_gap"]
        item.line = step.line
        call.items = (item,)
        self._enqueue(item, call.end + self.cost["launch_latency"])
        return call.end

    def _marker(self, thread: HostThread, step: Step, name: str) -> Item:
        call = self._call(thread, name, "event_call")
        stream = thread.device.stream(step.stream)
        item = Item(kind="marker", name=step.what, call=call, stream=stream, duration=0)
        item.line = step.line
        call.items = (item,)
        return item

    def _record(self, thread: HostThread, step: Step) -> int:
        item = self._marker(thread, step, "hipEventRecord")
        item.event = step.what
        key = thread.rank, step.what
        self.events[key] = item
        self._enqueue(item, item.call.end)
        for waiting in self.unrecorded.pop(key, ()):
            if isinstance(waiting, Call):
                waiting.waited = (item,)
                self.waiters.setdefault(item.number, []).append(waiting)
            else:
                waiting.waits_for = item
                if waiting.parked:
                    self.dependents.setdefault(item.number, []).append(waiting)
        return item.call.end

    def _wait(self, thread: HostThread, step: Step) -> int:
        item = self._marker(thread, step, "hipStreamWaitEvent")
        key = thread.rank, step.what
        item.awaits = True
        item.waits_for = self.events.get(key)
        if item.waits_for is None:
            self.unrecorded.setdefault(key, []).append(item)
        self._enqueue(item, item.call.end)
        return item.call.end

    def _sync(self, thread: HostThread, step: Step) -> int:
        call = self._call(thread, _SYNC_CALLS.get(step.what, "hipEventSynchronize"), "sync_call")
        if step.what == "device":
            return self._block(call, [stream.last for stream in thread.device.streams.values()])
        if step.what == "stream":
            return self._block(call, [thread.device.stream(step.stream).last])
        key = thread.rank, step.what
        if key in self.events:
            return self._block(call, [self.events[key]])
        self.unrecorded.setdefault(key, []).append(call)
        return self._blocked(call, 1)

    def _free(self, thread: HostThread, step: Step) -> int:
        call = self._call(thread, "hipFree", "alloc_call")
        self.result.allocations.append((call, "FREE", step.size_bytes))
        return self._block(call, [stream.last for stream in thread.device.streams.values()])

    def _alloc(self, thread: HostThread, step: Step) -> int:
        call = self._call(thread, "hipMalloc", "alloc_call")
        self.result.allocations.append((call, "ALLOC", step.size_bytes))
        return call.end

    def _cpu(self, thread: HostThread, step: Step) -> int:
        end = self.now + self._noisy(thread, round(1000 * step.duration_us))
        thread.last = HostWork(name=step.what, start=self.now, end=end, thread=thread)
        self.result.host_work.append(thread.last)
        return end

    def _push(self, thread: HostThread, step: Step) -> int:
        thread.open_ranges.append((step.what, self.now))
        return self.now + self.cost["range_call"]

    def _pop(self, thread: HostThread, step: Step) -> int:
        if not thread.open_ranges:
            raise InputError(
                self._place(step.line), f"thread {thread.name!r} pops a range that it never pushed"
            )
        name, start = thread.open_ranges.pop()
        end = self.now + self.cost["range_call"]
        self.result.ranges.append(
            Range(name=name, start=start, end=end, depth=len(thread.open_ranges), thread=thread)
        )
        return end

    def _block(self, call: Call, pending: list[Item | None]) -> int:
        """Make the call return when all of `pending` have ended."""
        unfinished = [item for item in pending if item is not None and item.end < 0]
        if not unfinished:
            self._noisy(call.thread, 1)  # draw the same random numbers, however long the work takes
            return call.end
        call.waited = tuple(unfinished)
        for item in unfinished:
            self.waiters.setdefault(item.number, []).append(call)
        return self._blocked(call, len(unfinished))

    def _blocked(self, call: Call, unfinished: int) -> int:
        call.thread.waiting_for = call.name
        call.unfinished = unfinished
        call.return_ns = self._noisy(call.thread, self.cost["sync_return"])
        return BLOCKED

    def _kernel_item(self, step: Step, call: Call, stream: Stream) -> Item:
        kernel, duration, share = self.kernels[step.what]
        if self.noise:
            duration = self._noisy(call.thread, duration)
        item = Item(kind="kernel", name=kernel.name, call=call, stream=stream, duration=duration)
        item.kernel = kernel
        item.share = share
        item.gap = self.cost["kernel_gap"]
        return item

    def _copy_item(self, step: Step, call: Call, stream: Stream) -> Item:
        usual = self.gpu.copy_ns(step.what, step.size_bytes, step.pinned)
        duration = self._noisy(call.thread, round(usual))
        item = Item(kind="copy", name=step.what, call=call, stream=stream, duration=duration)
        item.size_bytes = step.size_bytes
        item.pinned = step.pinned
        return item

    def _place(self, line: int) -> str:
        return f"{self.workload.name}, line {line}" if line else self.workload.name

    def _refuse_deadlock(self) -> None:
        stuck = [thread for thread in self.result.threads if thread.waiting_for]
        unfinished = [item for stream in self._streams() for item in stream.items]
        lone = [item for item in unfinished if item.kind == "collective" and item.start >= 0]
        if lone:
            why = f"the collective {lone[0].name!r} waits for ranks that never call it in its turn"
            raise InputError(self._place(lone[0].line), f"a deadlock: {why}")
        parked = [item for item in unfinished if item.awaits]
        if parked:
            why = f"the wait for event {parked[0].name!r} never ends"
            raise InputError(self._place(parked[0].line), f"a deadlock: {why}")
        if stuck:
            step = stuck[0].step
            why = f"thread {stuck[0].name!r} waits in {stuck[0].waiting_for} for work that never ends"
            raise InputError(self._place(step.line if step else 0), f"a deadlock: {why}")

    def _refuse_length(self) -> None:
        if (length := self.now - START_NS) > LONGEST_NS:
            limit = (
                f"at most {format_ns(LONGEST_NS)} is simulated, because every sensor is read each millisecond"
            )
            raise InputError(f"{self.workload.name} would take {format_ns(length)}", limit)

    def _streams(self) -> list[Stream]:
        devices = {thread.rank: thread.device for thread in self.result.threads}
        return [stream for device in devices.values() for stream in device.streams.values()]
