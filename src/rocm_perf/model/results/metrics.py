"""What the recorded counters say about each kernel."""

from __future__ import annotations

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


class Metrics(msgspec.Struct, frozen=True):
    """Metrics by kernel, longest total time first. `missing` says why metrics of the chip have no value here,
    `counters` from which of the recorded counters the values come."""

    rows: tuple[KernelMetric, ...]
    missing: dict[str, str]
    unavailable: str | None = None
    counters: tuple[str, ...] = ()
