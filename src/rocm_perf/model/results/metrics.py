"""What the recorded counters say about each kernel."""

from __future__ import annotations

from typing import Literal

import msgspec


class KernelMetric(msgspec.Struct, frozen=True):
    """One metric of one kernel: the formula applied to the sums over its dispatches, and the range of their values."""

    kernel: str
    short_name: str
    gpu: str
    metric: str
    title: str
    unit: str
    value: float
    least: float | None
    greatest: float | None
    dispatches: int
    doubt: str | None


class Indicator(msgspec.Struct, frozen=True):
    """One indicator of one kernel beside its target; where it misses that, `advice` says what that means."""

    kernel: str
    short_name: str
    gpu: str
    name: str
    counters: str  # what it is made from, as guides name it
    value: float
    target: str
    verdict: Literal["good", "poor", "unclear"]  # unclear: the value is in doubt, and `advice` says why
    advice: str
    doubt: str | None = None


class Metrics(msgspec.Struct, frozen=True):
    """Metrics by kernel, longest total time first. `missing` says why metrics of the chip have no value here,
    `counters` from which of the recorded counters the values come, `indicators` how the kernels compare with a good
    profile."""

    rows: tuple[KernelMetric, ...]
    missing: dict[str, str]
    unavailable: str | None = None
    counters: tuple[str, ...] = ()
    indicators: tuple[Indicator, ...] = ()
