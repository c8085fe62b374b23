"""What happened in a simulated run: calls of host threads, items of streams, and what each start waited for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from rocm_perf.sim.gpu import SimGpu
from rocm_perf.sim.steps import Kernel, Step, Thread, Workload, in_order

START_NS = 1_000_000_000  # not zero, as with boot clocks


class Call:
    """One host call. It works until `issued`; a blocking call then waits until `end`."""

    __slots__ = (
        "domain", "end", "issued", "items", "name", "number", "previous", "released_by", "return_ns", "start", "thread",
        "unfinished", "waited",
    )  # fmt: skip

    def __init__(self, number: int, name: str, thread: HostThread, start: int, end: int) -> None:
        self.number = number
        self.name = name
        self.domain = "hip"
        self.thread = thread
        self.start = start
        self.end = end
        self.issued = end
        self.previous = thread.last
        self.items: tuple[Item, ...] = ()
        self.waited: tuple[Item, ...] = ()  # everything whose end a blocking call waits for
        self.unfinished = 0
        self.return_ns = 0  # from the end of the work to the return
        self.released_by: Item | None = None  # the work whose end let a blocking call return


class HostWork:
    """Time that the host spends outside of the runtime."""

    __slots__ = ("end", "name", "previous", "start", "thread")

    def __init__(self, name: str, start: int, end: int, thread: HostThread) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.thread = thread
        self.previous = thread.last


Activity = Call | HostWork


class Item:
    """One thing that a stream does: a kernel, a copy, a collective, or the marker of an event."""

    __slots__ = (
        "arrival", "awaits", "before", "call", "cause", "cause_item", "duration", "end", "event", "gap", "graph",
        "kernel", "kind", "last_member", "line", "name", "number", "parked", "pinned", "share", "size_bytes", "start",
        "stream", "waits_for",
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
        self.line = 0
        self.kernel: Kernel | None = None
        self.event: str | None = None  # recorded by this marker
        self.awaits = False  # this marker waits for an event: `waits_for`, once that is recorded
        self.waits_for: Item | None = None
        self.parked = False  # its turn has come, and the event has not been recorded
        self.before: Item | None = None  # the one before it in its stream
        self.cause = "launch"  # or stream, event, capacity: what its start waited for last
        self.cause_item: Item | None = None
        self.last_member: Item | None = None  # of a collective: the one that started last


class Stream:
    """One in-order queue of a GPU."""

    __slots__ = ("device", "items", "last", "name", "number", "worked")

    def __init__(self, name: str, number: int, device: Device) -> None:
        self.name = name
        self.number = number
        self.device = device
        self.items: deque[Item] = deque()  # not yet ended, the first may be running
        self.last: Item | None = None  # last one enqueued
        self.worked: Item | None = None  # last one ended that is not a marker


class Device:
    """One GPU: its streams, its room for kernels, its copy engines."""

    __slots__ = ("engines", "free", "idle_since", "ramp_end", "rank", "running", "streams", "waiting")

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.streams: dict[str, Stream] = {}
        self.free = 1.0
        self.running = 0
        self.idle_since = -START_NS
        self.ramp_end = 0
        self.engines = {"H2D": 1, "D2H": 1, "D2D": 1}
        self.waiting: list[Item] = []

    def stream(self, name: str) -> Stream:
        """The stream of this name, created on its first use."""
        if name not in self.streams:
            self.streams[name] = Stream(name, len(self.streams), self)
        return self.streams[name]


class HostThread:
    """One host thread and where it is in its program."""

    __slots__ = (
        "device", "last", "name", "number", "open_ranges", "program", "random", "rank", "step", "waiting_for",
    )  # fmt: skip

    def __init__(self, thread: Thread, number: int, device: Device, seed: int) -> None:
        self.name = thread.name
        self.rank = thread.rank
        self.number = number
        self.device = device
        self.program: Iterator[Step] = in_order(thread.steps)
        self.random = Random(f"{seed}/{number}")  # its own: threads do not affect one another
        self.step: Step | None = None
        self.last: Activity | None = None
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


@dataclass
class Run:
    """Everything that happened in a simulated run."""

    workload: Workload
    gpu: SimGpu
    calls: list[Call] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    host_work: list[HostWork] = field(default_factory=list)
    threads: list[HostThread] = field(default_factory=list)
    allocations: list[tuple[Call, str, int]] = field(default_factory=list)
    end_ns: int = START_NS

    @property
    def wall_ns(self) -> int:
        """From the start of the run to its end."""
        return self.end_ns - START_NS
