"""Batches of times: what is recorded, and that nothing waits for the GPU inside the timed region."""

from __future__ import annotations

import pytest

from rocm_perf.bench.inside.timers import WallClock
from tests.unit.bench.fakes import FakeClock, FakeStream, Work


def test_nothing_waits_between_the_events_of_a_batch() -> None:
    clock = FakeClock()
    stream = FakeStream(clock)
    batch = stream.timer().batch(stream.logged("call", Work(clock, 9, 1, 2, 3)), 3)
    assert batch.times_ms == (1, 2, 3)
    one = ["record", "call", "record"]
    assert stream.log == ["call", *one, *one, *one, "synchronize stream"]


def test_caches_are_emptied_outside_of_the_time() -> None:
    clock = FakeClock()
    stream = FakeStream(clock)
    flush = stream.logged("flush", Work(clock, 100))
    batch = stream.timer().batch(stream.logged("call", Work(clock, 2)), 2, flush)
    assert batch.times_ms == (2, 2)
    one = ["flush", "record", "call", "record"]
    assert stream.log == ["call", *one, *one, "synchronize stream"]


def test_a_single_sample_has_no_call_before_it() -> None:
    clock = FakeClock()
    stream = FakeStream(clock)
    assert stream.timer().batch(Work(clock, 7, 8), 1).times_ms == (7,)


def test_what_came_back_before_an_error_is_kept() -> None:
    clock = FakeClock()
    problem = ValueError("bad shape")
    batch = FakeStream(clock).timer().batch(Work(clock, 9, 1, 2, problem), 5)
    assert (batch.times_ms, batch.error) == ((1, 2), problem)
    batch = WallClock(clock).batch(Work(clock, 1, 2, problem), 5)
    assert (batch.times_ms, batch.error) == ((1, 2), problem)


def test_a_fault_of_a_kernel_shows_when_the_stream_is_waited_for() -> None:
    clock = FakeClock()
    timer = FakeStream(clock).timer()
    fault = RuntimeError("illegal memory access")

    def synchronize() -> None:
        raise fault

    object.__setattr__(timer.events, "synchronize", synchronize)
    batch = timer.batch(Work(clock, 1), 3)
    assert (batch.times_ms, batch.error) == ((), fault)


def test_the_wall_clock_waits_within_each_time_where_there_is_a_stream() -> None:
    clock = FakeClock()
    timer = WallClock(clock, wait=lambda: clock.spend(5))
    assert timer.batch(Work(clock, 1), 2).times_ms == (6, 6)


def test_no_time_is_zero() -> None:
    (time_ms,) = WallClock(FakeClock()).batch(lambda: None, 1).times_ms
    assert time_ms == pytest.approx(1e-6)
