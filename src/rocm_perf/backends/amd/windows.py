"""How AMD's profilers keep to a window: by periods of time, or between calls of the program, and by nothing else.

Periods, release by release: AMD's rocprofv3.py and its tool.cpp, the script and the tool of rocprofv2, rpl_run.sh.
"""

from __future__ import annotations

from rocm_perf.backends.window_variables import decimal
from rocm_perf.model.window import PROFILER_CALLS, Window, WindowPart

_LACKING: dict[WindowPart, str] = {
    "last": "has no ring that keeps the last seconds",
    "max-size": "cannot stop at a size",
    "steps": "does not count steps or ranges",
}
_YEAR_S = 365 * 24 * 3600.0
_MOST_MS = 2_000_000_000  # rocprofv2 repeats nothing within 2^31 ms, and refuses what is longer
MOST_S = 2_147.0  # rocprof counts microseconds in 31 bits


def lacking(window: Window, tool: str, calls: str) -> str:
    """Why a profiler of AMD's does not keep to the window, whatever its release; empty if it may. `calls` are those
    between which this one can be switched on."""
    for part in window.parts:
        if part in _LACKING:
            return f"{tool} {_LACKING[part]}"
    if window.by_both:
        return f"{tool} switches by the clock or by calls, not by both"
    if window.between_calls and not calls:
        return f"{tool} cannot be switched on and off by the program"
    if window.range and not window.between_calls:
        remedy = f": call {calls} around that part, and give --range {PROFILER_CALLS}" if calls else ""
        return f"{tool} does not switch at ranges{remedy}"
    return ""


def without_end(window: Window, tool: str) -> str:
    """Why a profiler whose windows recur as long as the program runs does not keep to this one; empty if it does."""
    if window.recurs and window.duration_s is not None:
        return f"{tool} repeats its window as long as the program runs: leave --duration out"
    return ""


def v3_period(window: Window) -> tuple[str, ...]:
    """rocprofv3's option: delay, length and how often, in seconds. It knows no length without an end, and a year is
    longer than any run. The delay comes before each repetition, and 0 repeats to the end."""
    if not window.by_clock:
        return ()
    if window.recurs:
        length, pause = decimal(window.open_s), decimal((window.period_s or 0) - window.open_s)
        more = window.openings - 1 if window.openings else 0
        return ("--collection-period", f"{decimal(window.first_s)}:{length}:1", f"{pause}:{length}:{more}")
    return (
        "--collection-period",
        f"{decimal(window.delay_s or 0)}:{decimal(window.duration_s or _YEAR_S)}:1",
    )


def v2_period(window: Window) -> tuple[str, ...]:
    """rocprofv2's option: delay and length in whole milliseconds, and the distance of repetitions, where there are
    any."""
    if not window.by_clock:
        return ()
    if window.recurs:
        times_s = (window.first_s, window.open_s, window.period_s or 0)
        return ("-tp", ":".join(str(round(time_s * 1e3)) for time_s in times_s))
    length_ms = _MOST_MS if window.duration_s is None else max(1, round(window.duration_s * 1e3))
    return ("-tp", f"{round((window.delay_s or 0) * 1e3)}:{length_ms}")


def v1_period(window: Window) -> tuple[str, ...]:
    """rocprof's option: delay, length and the distance of repetitions, in whole microseconds, as far as it counts."""
    if not window.by_clock:
        return ()
    times_s = (window.delay_s or 0, window.duration_s or MOST_S, MOST_S)
    if window.recurs:
        times_s = (window.first_s, window.open_s, window.period_s or 0)
    return ("--trace-period", ":".join(f"{round(time_s * 1e6)}us" for time_s in times_s))
