"""Clocks for a batch of calls. Device events are recorded on the current stream and read once the batch is over, so
that nothing waits for the GPU inside the timed region; only the stream is waited for, never the whole device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rocm_perf.bench.samples import Clock

Call = Callable[[], object]
_NS_PER_MS = 1e6
_SHORTEST_MS = 1e-6  # a time of 0 is below the clock's resolution, and has no logarithm


@dataclass(frozen=True)
class Batch:
    """The times of the calls that came back, and what the call after them raised."""

    times_ms: tuple[float, ...]
    error: Exception | None = None


class Timer(Protocol):
    """A clock for calls."""

    clock: Clock

    @property
    def synchronize(self) -> Call:
        """Waits until the current stream has done its work."""

    def batch(self, call: Call, count: int, before_each: Call | None = None) -> Batch:
        """The time of each of `count` calls. `before_each` is called before each of them, outside of its time."""


class WallClock:
    """The host's clock. Where there is a GPU it waits for the stream within each time."""

    clock: Clock = "wall clock"

    def __init__(self, now_ns: Callable[[], int] = time.perf_counter_ns, wait: Call = lambda: None) -> None:
        self._now_ns = now_ns
        self.synchronize = wait

    def batch(self, call: Call, count: int, before_each: Call | None = None) -> Batch:
        times: list[float] = []
        try:
            for _ in range(count):
                if before_each is not None:
                    before_each()
                begun = self._now_ns()
                call()
                self.synchronize()
                times.append(max((self._now_ns() - begun) / _NS_PER_MS, _SHORTEST_MS))
        except Exception as error:  # noqa: BLE001  (the target's own)
            return Batch(tuple(times), error)
        return Batch(tuple(times))


@dataclass(frozen=True)
class Events:
    """A runtime's events, on its current stream."""

    create: Callable[[], Any]
    record: Callable[[Any], object]
    elapsed_ms: Callable[[Any, Any], float]
    synchronize: Callable[[], object]
    synchronize_device: Callable[[], object]


class EventTimer:
    """The device's clock, read by events around each call."""

    clock: Clock = "device events"

    def __init__(self, events: Events) -> None:
        self.events = events
        self.synchronize = events.synchronize

    def batch(self, call: Call, count: int, before_each: Call | None = None) -> Batch:
        """As the protocol says. Where several calls are timed, one before them keeps the stream busy while the first
        events are recorded: otherwise the first time would include a launch that had to wait for the host."""
        pairs = [(self.events.create(), self.events.create()) for _ in range(count)]
        returned = 0
        failure = None
        try:
            if count > 1:
                call()
            for start, end in pairs:
                if before_each is not None:
                    before_each()
                self.events.record(start)
                call()
                self.events.record(end)
                returned += 1
        except Exception as error:  # noqa: BLE001  (the target's own)
            failure = error
        return self._read(pairs[:returned], failure)

    def _read(self, pairs: list[tuple[Any, Any]], failure: Exception | None) -> Batch:
        try:
            self.events.synchronize()
            times = tuple(max(self.events.elapsed_ms(*pair), _SHORTEST_MS) for pair in pairs)
        except Exception as error:  # noqa: BLE001  (what a kernel did wrong shows here first)
            return Batch((), failure or error)
        return Batch(times, failure)
