"""Why a run recorded nothing, where only a part of it was to be recorded: the program is not run again for that."""

from __future__ import annotations

from rocm_perf.collect.run.outcome import Seen
from rocm_perf.model.window import Window
from rocm_perf.units import NS_PER_S


def unopened(window: Window, seen: Seen, wall_ns: int) -> str:
    """What the window has to do with an empty recording; empty where something was recorded, or all was asked for."""
    if seen.outcome != "empty" or not (window.by_clock or window.range or window.steps):
        return ""
    ran = f"the program ran {wall_ns / NS_PER_S:.1f} s"
    if wall_ns < window.first_s * NS_PER_S:
        sooner = "; give a shorter --period, or --delay 0" if window.recurs and window.delay_s is None else ""
        return f"nothing was recorded because the window opens {window.first_s:g} s after the start, and {ran}{sooner}"
    if seen.reason and (window.range or window.steps):
        return f"nothing was recorded ({window.sentence}): {seen.reason}; {ran}"
    if not window.range and window.steps is None:
        return f"nothing was recorded ({window.sentence}): no work of the GPU was seen then; {ran}"
    return f"nothing was recorded ({window.sentence}): that never came, or no work of the GPU was seen then; {ran}"
