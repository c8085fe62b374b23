"""The windows in which a run was recorded: samples of it, each with what was found there."""

from __future__ import annotations

import msgspec

from rocm_perf.model.quantity import Quantity


class RecordedWindow(msgspec.Struct, frozen=True):
    """One window. Its start counts from the first opening."""

    window: int
    start_ns: int
    duration_ns: int
    dispatches: int
    kernel_ns: int  # sum of the kernels' durations
    busy: Quantity  # of the GPUs together, between their first and their last work in the window
    steps: int  # of the steady state in it; 0 where nothing repeats
    step_ns: float | None  # median


class WindowLevel(msgspec.Struct, frozen=True):
    """Consecutive windows between which nothing changed."""

    first_window: int
    last_window: int
    median: float


class WindowSpread(msgspec.Struct, frozen=True):
    """One number over the windows in which it is known. `levels` has more than one where it changed along the run."""

    what: str  # "busy share" or "time of a step"
    unit: str  # "" for a share, or "ns"
    windows: int
    median: float
    low: float
    high: float
    levels: tuple[WindowLevel, ...]


class Windows(msgspec.Struct, frozen=True):
    """All windows that were analysed, and how much of the run they are; or why there are none."""

    rows: tuple[RecordedWindow, ...]
    recorded: int  # windows in the recording
    share: Quantity  # of the run's time that was recorded
    spreads: tuple[WindowSpread, ...]
    unavailable: str | None = None
