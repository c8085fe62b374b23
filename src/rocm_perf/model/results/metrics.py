"""What the recorded counters say of each kernel."""

from __future__ import annotations

import msgspec


class KernelMetric(msgspec.Struct, frozen=True):
    """One metric of one kernel: the formula of the sums over its dispatches, and the range of each one's value."""

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
    """By kernel, longest total time first. `missing`: why metrics of the chip have no value here."""

    rows: tuple[KernelMetric, ...]
    missing: dict[str, str]
    unavailable: str | None = None
