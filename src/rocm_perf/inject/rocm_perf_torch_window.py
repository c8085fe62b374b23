"""When to record, where the user asked for a part of the run: between two moments, or while a range is open. Each kind
calls `opened` and `closed`, on the thread that is there at that moment. Ranges are torch's, unless another framework
says how to watch its own."""

from __future__ import annotations

import functools
import os
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # Python 3.8 cannot subscript these
    from collections.abc import Callable, Mapping

    Action = Callable[[], None]
    Watch = Callable[["RangeWindow"], None]

PREFIX = "ROCM_PERF_WINDOW_"
PROFILER_CALLS = "@profiler"
STEPS = "@steps"  # what a framework marks as a step, whatever its name
_NEVER = {PROFILER_CALLS: "the profiler was never started", STEPS: "no step was marked"}
_STARTED = 19  # field of /proc/self/stat behind the name: when the process started, in ticks since the boot


class WholeRun:
    """Open from the moment when the program works with torch to its end."""

    opens_later = False  # than the program begins to work, and perhaps on another thread
    closing = ""  # what to tell the user when it has closed and the program goes on

    def __init__(self) -> None:
        self._opened: Action = _nothing
        self._closed: Action = _nothing

    def watch(self, opened: Action, closed: Action) -> None:
        """Call these from now on; torch has just been imported."""
        self._opened, self._closed = opened, closed

    def working(self) -> None:
        """The program works with torch from now on."""
        self._opened()

    def forked(self) -> None:
        """Go on in a process that was just forked."""

    def ending(self) -> str:
        """What to tell the user when the process ends; empty where nothing is odd."""
        return ""


class ClockWindow(WholeRun):
    """Open from some time after the start of the process, for some time."""

    opens_later = True

    def __init__(self, delay_s: float, duration_s: float | None) -> None:
        super().__init__()
        self._delay_s = delay_s
        self._duration_s = duration_s
        self._has_opened = False
        if duration_s is not None:
            self.closing = f"recorded for {duration_s:g} s as asked; the program goes on"

    def working(self) -> None:
        if self._delay_s <= age_s():
            self._open()
        if not self._has_opened or self._duration_s is not None:
            threading.Thread(target=self._run, daemon=True, name="rocm-perf").start()

    def _run(self) -> None:
        if not self._has_opened:
            time.sleep(max(0.0, self._delay_s - age_s()))
            self._open()
        if self._duration_s is not None:
            time.sleep(self._duration_s)
            self._closed()

    def _open(self) -> None:
        self._has_opened = True
        self._opened()

    def ending(self) -> str:
        if self._has_opened:
            return ""
        return f"nothing was recorded: the process ended {age_s():.1f} s after its start, before {self._delay_s:g} s"


class RangeWindow(WholeRun):
    """Open while a range of the program is open, in any thread; of several openings, from the first to the last that
    are asked for."""

    opens_later = True

    def __init__(
        self, name: str, first: int = 1, last: int | None = None, watch_ranges: Watch | None = None
    ) -> None:
        super().__init__()
        self.name = name
        self._watch_ranges = watch_ranges or _watch_torch
        self._first = first
        self._last = last
        self._lock = threading.Lock()
        self._depth = 0
        self._openings = 0
        self._is_recorded = False
        self._stacks = threading.local()

    def watch(self, opened: Action, closed: Action) -> None:
        super().watch(opened, closed)
        self._watch_ranges(self)

    def working(self) -> None:
        """Nothing opens before a range does."""

    def forked(self) -> None:
        self._lock = threading.Lock()  # another thread of the parent may have held it

    def ending(self) -> str:
        what = _NEVER.get(self.name, f"no range {self.name!r} opened")
        if self._openings < self._first:
            times = f" more than {self._openings} times" if self._openings else ""
            return f"nothing was recorded: {what}{times} in this process"
        if self._depth and self._is_chosen():
            return f"the range {self.name!r} was still open at the end: recorded until there"
        return ""

    def enter(self) -> bool:
        """A range of the name opens; whether it opens the window."""
        with self._lock:
            self._depth += 1
            is_first = self._depth == 1
            self._openings += is_first
            opens = is_first and self._is_chosen() and not self._is_recorded
            self._is_recorded = self._is_recorded or opens
        if opens:
            self._opened()
        return opens

    def leave(self) -> None:
        """One of them closes. Steps follow one another: what lies between those that are asked for is recorded too."""
        with self._lock:
            self._depth -= 1
            is_last = self._depth == 0
        goes_on = self.name == STEPS and self._last is not None and self._openings < self._last
        if is_last and self._is_chosen() and not goes_on:
            self._is_recorded = False
            self._closed()

    def _is_chosen(self) -> bool:
        return self._first <= self._openings and (self._last is None or self._openings <= self._last)

    @property
    def stack(self) -> list[str]:
        """The ranges without an end of their own that are open on this thread."""
        if not hasattr(self._stacks, "names"):
            self._stacks.names = []
        names: list[str] = self._stacks.names
        return names

    @property
    def is_open(self) -> bool:
        return self._depth > 0


def _watch_torch(window: RangeWindow) -> None:
    """Watch the ranges of torch, or the calls of its runtime that start and stop a profiler."""
    import torch

    if window.name == PROFILER_CALLS:
        _watch_calls(window, getattr(torch._C, "_cudart", None))
        return
    watch_context(window, torch.autograd.profiler.record_function, lambda range_: str(range_.name))
    _watch_nvtx(window, torch.cuda.nvtx)


def watch_context(
    window: RangeWindow, kind: Any, name_of: Callable[[Any], str], opened: Callable[[Any], object] = id
) -> None:
    """Watch a class whose objects are ranges in a `with`: torch.profiler.record_function, which is also what
    rocm_perf.annotate sets there, or the annotations of JAX. `opened` is called with one that opened the window."""
    enter, leave = kind.__enter__, kind.__exit__

    @functools.wraps(enter)
    def entered(range_: Any) -> Any:
        if name_of(range_) == window.name and window.enter():
            opened(range_)
        return enter(range_)

    @functools.wraps(leave)
    def left(range_: Any, *error: Any) -> Any:
        try:
            return leave(range_, *error)
        finally:
            if name_of(range_) == window.name:
                window.leave()

    kind.__enter__, kind.__exit__ = entered, left


def _watch_nvtx(window: RangeWindow, module: Any) -> None:
    """Watch the ranges of torch.cuda.nvtx, which are roctx ranges where torch is built for ROCm."""
    push, pop = module.range_push, module.range_pop

    @functools.wraps(push)
    def pushed(msg: str) -> Any:
        depth = push(msg)
        window.stack.append(msg)
        if msg == window.name:
            window.enter()
        return depth

    @functools.wraps(pop)
    def popped() -> Any:
        depth = pop()
        if window.stack and window.stack.pop() == window.name:
            window.leave()
        return depth

    module.range_push, module.range_pop = pushed, popped


def _watch_calls(window: RangeWindow, runtime: Any) -> None:
    """Watch cudaProfilerStart and cudaProfilerStop as Python calls them, also through torch.cuda.profiler. Starting
    twice is starting once."""
    if not hasattr(runtime, "cudaProfilerStart"):
        return
    start, stop = runtime.cudaProfilerStart, runtime.cudaProfilerStop

    def started() -> Any:
        if not window.is_open:
            window.enter()
        return start()

    def stopped() -> Any:
        if window.is_open:
            window.leave()
        return stop()

    runtime.cudaProfilerStart, runtime.cudaProfilerStop = started, stopped


def window_of(environment: Mapping[str, str], watch_ranges: Watch | None = None) -> WholeRun:
    """The window in ROCM_PERF_WINDOW_*."""
    name = environment.get(PREFIX + "RANGE", "")
    if name:
        first, _, last = environment.get(PREFIX + "STEPS", "1").partition("..")
        return RangeWindow(name, int(first), int(last) if last else None, watch_ranges)
    delay, duration = (environment.get(PREFIX + part, "") for part in ("DELAY_S", "DURATION_S"))
    if delay or duration:
        return ClockWindow(float(delay or 0), float(duration) if duration else None)
    return WholeRun()


def age_s() -> float:
    """Seconds since this process started."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[_STARTED])
    except (OSError, ValueError, IndexError):
        return time.process_time()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _nothing() -> None:
    """Nobody watches yet."""
