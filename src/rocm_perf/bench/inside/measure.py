"""The measurement of one function in this process, as a series of journal entries: the first call, the warm-up, the
steady state in batches, and what is worth knowing beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from rocm_perf.bench.inside import surroundings
from rocm_perf.bench.inside.cache import cache_flush
from rocm_perf.bench.inside.graph import captured
from rocm_perf.bench.inside.runtimes import chosen_timer
from rocm_perf.bench.inside.timers import Call, Timer
from rocm_perf.bench.journal import Entry
from rocm_perf.bench.settings import ClockChoice, Settings
from rocm_perf.statistics.noise import noise
from rocm_perf.statistics.series import FEWEST_SAMPLES
from rocm_perf.units import format_count

_BATCH_S = 0.2  # as much work as is recorded before the times are read
_LARGEST_BATCH = 10  # samples that are lost at most when the process dies
_MOST_TIMES_ITERATIONS = 10  # samples that a noisy function gets at most, in multiples of those asked for
_T = TypeVar("_T")


class CallError(Exception):
    """The target raised. The cause is its own exception; the text says at which call."""


@dataclass(frozen=True)
class Clocks:
    """The host's clocks, and how a timer is chosen: what a test replaces."""

    now_ns: Callable[[], int] = time.perf_counter_ns
    boot_ns: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    timer: Callable[[ClockChoice], Timer] = chosen_timer


@dataclass(frozen=True)
class _Session:
    """One measurement: its settings, its clocks, and when its time is up."""

    settings: Settings
    clocks: Clocks
    timer: Timer
    deadline_ns: int

    def warm_up(self, call: Call) -> list[float]:
        """The wall time of each call of the warm-up, in ms. It ends when half of the time that is left is spent."""
        half = (self.clocks.now_ns() + self.deadline_ns) // 2
        times: list[float] = []
        while len(times) < self.settings.warmup and self.clocks.now_ns() < half:
            begun = self.clocks.now_ns()
            _blamed(call, f"warm-up call {len(times) + 1}")
            _blamed(self.timer.synchronize, f"warm-up call {len(times) + 1}")
            times.append((self.clocks.now_ns() - begun) / 1e6)
        return times

    def is_out_of_time(self) -> bool:
        return self.clocks.now_ns() >= self.deadline_ns


@dataclass
class _Steady:
    """The steady state so far."""

    settings: Settings
    batch_size: int
    times_ms: list[float] = field(default_factory=list)

    def next_count(self) -> int:
        """How many samples to take next."""
        missing = self.settings.iterations - len(self.times_ms)
        return min(self.batch_size, missing) if missing > 0 else self.batch_size

    def is_enough(self) -> bool:
        taken, wanted, precision = len(self.times_ms), self.settings.iterations, self.settings.precision
        if taken < wanted or precision is None or wanted < FEWEST_SAMPLES:
            return taken >= wanted
        return taken >= _MOST_TIMES_ITERATIONS * wanted or noise(self.times_ms) <= precision

    def shortfall(self) -> str:
        """What is missing when the time is up."""
        taken = format_count(len(self.times_ms), "sample")
        budget = f"the budget of {self.settings.budget_s:g} s is spent"
        if len(self.times_ms) < self.settings.iterations:
            return f"{budget}: {taken} of {self.settings.iterations} were taken"
        return f"{budget}: {taken} leave the median uncertain by {noise(self.times_ms):.1%}"


def measure(call: Call, settings: Settings, clocks: Clocks | None = None) -> Iterator[Entry]:
    """Measure a function that takes no arguments. Raises CallError when it raises; what was measured before has been
    yielded by then."""
    clocks = clocks or Clocks()
    surroundings.begin()
    begun = clocks.now_ns()
    result = _blamed(call, "the first call")
    timer = clocks.timer(settings.clock)
    _blamed(timer.synchronize, "the first call")
    first_ms = (clocks.now_ns() - begun) / 1e6
    yield {"clock": timer.clock, "first_call_ms": first_ms, "notes": surroundings.notes(result, timer)}
    del result
    session = _Session(settings, clocks, timer, clocks.now_ns() + int(settings.budget_s * 1e9))
    warmup = session.warm_up(call)
    yield {"warmup_ms": warmup}
    if settings.graph:
        call, capture_ms = captured(call, timer, clocks.now_ns)
        warmup = session.warm_up(call)
        yield {"facts": {"graph_capture_ms": capture_ms, "graph_warmup_ms": warmup}}
    compiled = surroundings.compiled_graphs()
    per_call_s = min(warmup, default=first_ms) / 1e3
    yield from _steady(call, session, per_call_s)
    yield {"facts": surroundings.recompiled(compiled)}
    yield surroundings.after(call, timer, per_call_s, clocks.now_ns)


def _steady(call: Call, session: _Session, per_call_s: float) -> Iterator[Entry]:
    """The batches of the steady state, until there are enough samples or the time is up."""
    flush = cache_flush(session.timer) if session.settings.cold else None
    size = max(1, min(_LARGEST_BATCH, int(_BATCH_S / max(per_call_s, 1e-9))))
    steady = _Steady(session.settings, size)
    while not steady.is_enough():
        begin_ns = session.clocks.boot_ns()
        batch = session.timer.batch(call, steady.next_count(), flush)
        steady.times_ms += batch.times_ms
        yield {"times_ms": list(batch.times_ms), "begin_ns": begin_ns, "end_ns": session.clocks.boot_ns()}
        if batch.error is not None:
            raise CallError(f"sample {len(steady.times_ms) + 1}") from batch.error
        if session.is_out_of_time() and not steady.is_enough():
            yield {"notes": [steady.shortfall()]}
            return


def _blamed(call: Callable[[], _T], which: str) -> _T:
    """What a call returns; what it raises is the target's."""
    try:
        return call()
    except Exception as error:
        raise CallError(which) from error
