"""The measurement of one function in this process, as a series of journal entries: the first call, the warm-up, the
steady state in batches, and what is worth knowing beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rocm_perf.bench.inside import surroundings
from rocm_perf.bench.inside.cache import cache_flush
from rocm_perf.bench.inside.graph import captured
from rocm_perf.bench.inside.runtimes import chosen_timer
from rocm_perf.bench.inside.timers import Call, Timer
from rocm_perf.bench.journal import Entry
from rocm_perf.bench.settings import ClockChoice, Settings
from rocm_perf.statistics.noise import noise
from rocm_perf.units import format_count

_BATCH_S = 0.2  # as much work as is recorded before the times are read
_LARGEST_BATCH = 10  # samples that are lost at most when the process dies
_MOST_TIMES_ITERATIONS = 10  # samples that a noisy function gets at most, in multiples of those asked for


class CallError(Exception):
    """The target raised. The cause is its own exception; the text says at which call."""


@dataclass(frozen=True)
class Bench:
    """The clocks and the way to choose a timer, which a test replaces."""

    now_ns: Callable[[], int] = time.perf_counter_ns
    boot_ns: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    timer: Callable[[ClockChoice], Timer] = chosen_timer


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
        taken, wanted = len(self.times_ms), self.settings.iterations
        if taken < wanted:
            return False
        precision = self.settings.precision
        return (
            precision is None or taken >= _MOST_TIMES_ITERATIONS * wanted or noise(self.times_ms) <= precision
        )


def measure(call: Call, settings: Settings, bench: Bench | None = None) -> Iterator[Entry]:
    """Measure a function that takes no arguments. Raises CallError when it raises; what was measured before has been
    yielded by then."""
    bench = bench or Bench()
    surroundings.begin()
    begun = bench.now_ns()
    result = _called(call, "the first call")
    timer = bench.timer(settings.clock)
    _waited(timer, "the first call")
    first_ms = (bench.now_ns() - begun) / 1e6
    yield {"clock": timer.clock, "first_call_ms": first_ms, "notes": surroundings.notes(result, timer)}
    del result
    deadline = bench.now_ns() + int(settings.budget_s * 1e9)
    warmup = _warm_up(call, settings.warmup, timer, (bench, deadline))
    yield {"warmup_ms": warmup}
    if settings.graph:
        call, capture_ms = captured(call, timer, bench.now_ns)
        warmup = _warm_up(call, settings.warmup, timer, (bench, deadline))
        yield {"facts": {"graph_capture_ms": capture_ms, "graph_warmup_ms": warmup}}
    compiled = surroundings.compiled_graphs()
    per_call_s = min(warmup, default=first_ms) / 1e3
    yield from _steady(call, settings, timer, per_call_s, (bench, deadline))
    yield {"facts": surroundings.recompiled(compiled)}
    yield surroundings.after(call, timer, per_call_s, bench.now_ns)


def _steady(
    call: Call, settings: Settings, timer: Timer, per_call_s: float, within: tuple[Bench, int]
) -> Iterator[Entry]:
    """The batches of the steady state, until there are enough samples or the time is up."""
    bench, deadline = within
    flush = cache_flush(timer) if settings.cold else None
    size = max(1, min(_LARGEST_BATCH, int(_BATCH_S / max(per_call_s, 1e-9))))
    steady = _Steady(settings, size)
    while not steady.is_enough():
        begun_ns = bench.boot_ns()
        batch = timer.batch(call, steady.next_count(), flush)
        steady.times_ms += batch.times_ms
        yield {"times_ms": list(batch.times_ms), "begin_ns": begun_ns, "end_ns": bench.boot_ns()}
        if batch.error is not None:
            raise CallError(f"sample {len(steady.times_ms) + 1}") from batch.error
        if bench.now_ns() >= deadline and not steady.is_enough():
            yield {"notes": [_out_of_time(steady)]}
            return


def _out_of_time(steady: _Steady) -> str:
    taken = format_count(len(steady.times_ms), "sample")
    budget = f"the budget of {steady.settings.budget_s:g} s is spent"
    if len(steady.times_ms) < steady.settings.iterations:
        return f"{budget}: {taken} of {steady.settings.iterations} were taken"
    return f"{budget}: {taken} know their median to {noise(steady.times_ms):.1%} only"


def _warm_up(call: Call, count: int, timer: Timer, within: tuple[Bench, int]) -> list[float]:
    """The wall time of each call of the warm-up, in ms, which ends when half of the time is spent."""
    bench, deadline = within
    half = (bench.now_ns() + deadline) // 2
    times: list[float] = []
    while len(times) < count and bench.now_ns() < half:
        begun = bench.now_ns()
        _called(call, f"warm-up call {len(times) + 1}")
        _waited(timer, f"warm-up call {len(times) + 1}")
        times.append((bench.now_ns() - begun) / 1e6)
    return times


def _called(call: Call, which: str) -> object:
    try:
        return call()
    except Exception as error:
        raise CallError(which) from error


def _waited(timer: Timer, which: str) -> None:
    try:
        timer.synchronize()
    except Exception as error:
        raise CallError(which) from error
