"""Which part of a program's run is recorded. A window goes by the clock (delay, duration), by ranges (range, steps) or
by both, recurs (duty, period), or is a ring of the last seconds; a largest size can be added to each."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from rocm_perf.units import format_bytes

WindowPart = Literal["delay", "duration", "duty", "period", "max-size", "last", "range", "steps"]
PROFILER_CALLS = "@profiler"  # the range between the calls that start and stop a profiler


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be recorded of a run; all of it, unless a part is given."""

    delay_s: float | None = None  # from the start of the program
    duration_s: float | None = None  # from the moment when recording first begins
    duty: float | None = None  # the share of each period that is recorded
    period_s: float | None = None  # from one opening to the next; given where `duty` is
    max_bytes: int | None = None  # on disk, of each process
    last_s: float | None = None  # before the end, or before a snapshot
    range: str = ""  # only while a range of this name is open
    steps: tuple[int, int] | None = (
        None  # first and last, counted from 1: openings of `range`, or the program's steps
    )

    @property
    def parts(self) -> tuple[WindowPart, ...]:
        """The parts that are given."""
        given: dict[WindowPart, bool] = {
            "delay": self.delay_s is not None,
            "duration": self.duration_s is not None,
            "duty": self.duty is not None,
            "period": self.period_s is not None,
            "max-size": self.max_bytes is not None,
            "last": self.last_s is not None,
            "range": bool(self.range),
            "steps": self.steps is not None,
        }
        return tuple(part for part, is_given in given.items() if is_given)

    def __bool__(self) -> bool:
        """Whether anything less than the whole run is asked for."""
        return bool(self.parts)

    @property
    def by_clock(self) -> bool:
        """Whether it opens or closes at a time."""
        return self.delay_s is not None or self.duration_s is not None or self.recurs

    @property
    def recurs(self) -> bool:
        """Whether it opens again and again, so that what is recorded are samples of the run."""
        return self.duty is not None and self.period_s is not None

    @property
    def open_s(self) -> float:
        """How long each of the windows that recur is open."""
        return (self.duty or 0) * (self.period_s or 0)

    @property
    def first_s(self) -> float:
        """When it first opens. Windows that recur lie in the middle of their periods: were the first one at the start,
        a program shorter than two periods would show its start-up and nothing else."""
        if self.delay_s is not None or not self.recurs:
            return self.delay_s or 0
        return ((self.period_s or 0) - self.open_s) / 2

    @property
    def by_both(self) -> bool:
        """Whether it goes by the clock and by ranges: ranges before the delay's end do not count."""
        return self.by_clock and (bool(self.range) or self.steps is not None)

    @property
    def openings(self) -> int | None:
        """How often a window that recurs opens within `duration_s`; None: to the end of the run."""
        if self.duration_s is None or not self.period_s:
            return None
        return math.ceil(self.duration_s / self.period_s)

    @property
    def between_calls(self) -> bool:
        """Whether the program itself opens and closes it, by calling a profiler's start and stop."""
        return self.range == PROFILER_CALLS

    @property
    def sentence(self) -> str:
        """What is recorded, in words; empty where that is everything."""
        phrases = []
        if self.recurs:
            phrases.append(f"{self.open_s:g} s of every {self.period_s:g} s")
        if self.delay_s is not None:
            phrases.append(f"from {self.delay_s:g} s after the start")
        if self.duration_s is not None:
            phrases.append(f"for {self.duration_s:g} s")
        if self.last_s is not None:
            phrases.append(f"the last {self.last_s:g} s")
        if self.range:
            phrases.append(self.opened_by)
        if self.steps is not None:
            phrases.append(f"{'times' if self.range else 'steps'} {self.steps[0]} to {self.steps[1]}")
        if self.max_bytes is not None:
            phrases.append(f"at most {format_bytes(self.max_bytes)} per process")
        return ", ".join(phrases)

    @property
    def opened_by(self) -> str:
        """When a window by ranges is open, in words."""
        calls = "between the profiler's start and stop calls"
        return calls if self.between_calls else f"while the range {self.range!r} is open"
