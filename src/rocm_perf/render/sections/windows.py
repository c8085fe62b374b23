"""The windows of a run that was recorded in samples of it."""

from __future__ import annotations

from rocm_perf.model.document import Document
from rocm_perf.model.results.windows import RecordedWindow, WindowSpread
from rocm_perf.render.sections.section import (
    Columns,
    Section,
    count,
    explained,
    grids,
    number,
    share,
    time,
)
from rocm_perf.units import format_count, format_ns, format_share

_COLUMNS: Columns[RecordedWindow] = (
    number("window", lambda row: str(row.window)),
    explained("from", time, lambda row: row.start_ns, "opening of the window, from the first opening on"),
    explained("length", time, lambda row: row.duration_ns, "from its opening to its closing"),
    explained("busy", share, lambda row: row.busy, "windows.rows.busy"),
    explained("kernels", count, lambda row: row.dispatches, "kernels in the window"),
    explained("kernel time", time, lambda row: row.kernel_ns, "sum of the kernels' durations"),
    explained("steps", count, lambda row: row.steps, "steps of the window's steady state"),
    explained("step", time, lambda row: row.step_ns, "median over the window's steps"),
)


def windows_section(document: Document, top: int) -> Section:
    """Each window, and how far they differ."""
    windows = document.windows
    if windows.unavailable:
        return Section("Windows", unavailable=windows.unavailable)
    recorded = format_count(windows.recorded, "window")
    part = "" if windows.share.value is None else f", {format_share(windows.share.value)} of the run's time"
    return Section(
        "Windows",
        lines=(
            f"{recorded}{part}. Each is analysed by itself: what lies between two of them is not known.",
            *(_spread_line(spread) for spread in windows.spreads),
        ),
        grids=grids("", windows.rows, _COLUMNS, top),
    )


def windows_line(document: Document) -> str:
    """How much of the run was recorded, and whether that changed; empty where it was all of it."""
    windows = document.windows
    if len(windows.rows) < 2:
        return ""
    part = "" if windows.share.value is None else f", {format_share(windows.share.value)} of its time"
    return "; ".join([f"{windows.recorded} samples of the run{part}", *map(_course, windows.spreads)])


def _course(spread: WindowSpread) -> str:
    """Where the values go, where they change for good; else between which they lie."""
    if len(spread.levels) > 1:
        first, last = (_shown(spread, spread.levels[place].median) for place in (0, -1))
        return f"the {spread.what} goes from {first} to {last}"
    return f"{spread.what} {_shown(spread, spread.low)} to {_shown(spread, spread.high)}"


def _shown(spread: WindowSpread, value: float) -> str:
    return format_ns(value) if spread.unit == "ns" else format_share(value)


def _spread_line(spread: WindowSpread) -> str:
    low, middle, high = (_shown(spread, value) for value in (spread.low, spread.median, spread.high))
    extremes = f"{low} to {high}, median {middle}"
    steady = "no lasting change shows" if len(spread.levels) < 2 else "it changes along the run"
    return f"{spread.what[0].upper()}{spread.what[1:]} over {spread.windows} windows: {extremes}; {steady}."
