"""A clock that only the test moves, and runtimes that keep a record of what was asked of them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from rocm_perf.bench.inside.measure import Clocks
from rocm_perf.bench.inside.timers import Events, EventTimer, WallClock
from rocm_perf.bench.settings import ClockChoice

NS_PER_MS = 1_000_000


class FakeClock:
    """Time passes when work is done."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def spend(self, ms: float) -> None:
        self.now += int(ms * NS_PER_MS)

    def clocks(self, timer: Callable[[ClockChoice], Any] | None = None) -> Clocks:
        return Clocks(now_ns=self, boot_ns=self, timer=timer or (lambda _choice: WallClock(self)))


class Work:
    """A function that takes as long as it is told to, call by call; the last time holds for all that follow. A time
    may be an exception, which it raises."""

    def __init__(self, clock: FakeClock, *times_ms: float | Exception) -> None:
        self._clock = clock
        self._times = list(times_ms)
        self.calls = 0

    def __call__(self) -> str:
        planned = self._times[min(self.calls, len(self._times) - 1)]
        self.calls += 1
        if isinstance(planned, Exception):
            raise planned
        self._clock.spend(planned)
        return "done"


class FakeStream:
    """A stream and its events, which take the clock's time; `log` is the order in which things happened."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.log: list[str] = []

    def events(self) -> Events:
        return Events(
            create=dict,
            record=self._record,
            elapsed_ms=lambda start, end: (end["at"] - start["at"]) / NS_PER_MS,
            synchronize=lambda: self.log.append("synchronize stream"),
            synchronize_device=lambda: self.log.append("synchronize device"),
        )

    def timer(self) -> EventTimer:
        return EventTimer(self.events())

    def logged(self, name: str, call: Callable[[], object] = lambda: None) -> Callable[[], object]:
        def logging() -> object:
            self.log.append(name)
            return call()

        return logging

    def _record(self, event: dict[str, int]) -> None:
        self.log.append("record")
        event["at"] = self._clock.now


def fake_torch(clock: FakeClock) -> SimpleNamespace:
    """A torch on a GPU, as far as a measurement looks at it."""
    stream = FakeStream(clock)
    torch = SimpleNamespace(
        log=stream.log, __version__="2.9.0", version=SimpleNamespace(hip="7.2", cuda=None)
    )

    class Event:
        at = 0

        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            stream.log.append("record")
            self.at = clock.now

        def elapsed_time(self, end: Event) -> float:
            return (end.at - self.at) / NS_PER_MS

    class Graph:
        def replay(self) -> None:
            stream.log.append("replay")
            clock.spend(1)

    class Block:
        """A `with` block of torch."""

        def __init__(self, _what: object) -> None:
            pass

        def __enter__(self) -> None:
            stream.log.append("enter")

        def __exit__(self, *_error: object) -> None:
            stream.log.append("leave")

    current = SimpleNamespace(
        synchronize=lambda: stream.log.append("synchronize stream"), wait_stream=lambda _other: None
    )
    torch.cuda = SimpleNamespace(
        is_initialized=lambda: True,
        Event=Event,
        CUDAGraph=Graph,
        graph=Block,
        stream=Block,
        Stream=lambda: current,
        current_stream=lambda: current,
        synchronize=lambda: stream.log.append("synchronize device"),
        reset_peak_memory_stats=lambda: None,
        max_memory_allocated=lambda: 4096,
        current_device=lambda: 0,
        get_device_properties=lambda _index: SimpleNamespace(
            name="AMD Instinct MI300X", gcnArchName="gfx942:sramecc+", multi_processor_count=304, uuid="GPU-1"
        ),
    )
    torch.int32 = "int32"
    torch.empty = lambda *_size, **_options: SimpleNamespace(zero_=lambda: stream.log.append("flush"))
    return torch


class FakeBinding(ModuleType):
    """cuda-bindings or hip-python: functions that return (error, value)."""

    def __init__(self, prefix: str, clock: FakeClock, status: int = 0) -> None:
        super().__init__(prefix)
        self.log: list[str] = []
        names = ("EventCreate", "EventRecord", "EventElapsedTime", "StreamSynchronize", "DeviceSynchronize")
        for name in names:
            setattr(self, prefix + name, self._function(name, clock, status))

    def _function(self, name: str, clock: FakeClock, status: int) -> Callable[..., tuple[Any, ...]]:
        def function(*arguments: Any) -> tuple[Any, ...]:
            self.log.append(name)
            if name == "EventCreate":
                return status, {}
            if name == "EventRecord":
                arguments[0]["at"] = clock.now
            if name == "EventElapsedTime":
                return status, (arguments[1]["at"] - arguments[0]["at"]) / NS_PER_MS
            return (status,)

        return function
