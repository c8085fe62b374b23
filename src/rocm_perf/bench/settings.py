"""How to measure: checked when it is made, handed to the measuring process as plain data. Standard library alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rocm_perf.errors import UsageError

ClockChoice = Literal["auto", "device", "wall"]
CLOCK_CHOICES: tuple[ClockChoice, ...] = ("auto", "device", "wall")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How one process measures a function."""

    warmup: int = 10  # calls after the first that are not among the samples
    iterations: int = 100  # samples, if the budget allows; more while they are noisier than `precision`
    precision: float | None = (
        0.01  # half the interval of the median, as a share of it; None: `iterations` exactly
    )
    budget_s: float = 60.0  # for all of it, the first call excepted
    cold: bool = False  # caches emptied before each sample
    graph: bool = False  # captured once as a device graph, whose replays are timed
    clock: ClockChoice = "auto"

    def __post_init__(self) -> None:
        _whole("warmup", self.warmup, least=0)
        _whole("iterations", self.iterations, least=1)
        _positive("budget_s", self.budget_s)
        if self.precision is not None:
            _positive("precision", self.precision)
        if self.clock not in CLOCK_CHOICES:
            raise UsageError(
                f"clock={self.clock!r} is unknown", next_step=f"Use one of {', '.join(CLOCK_CHOICES)}."
            )


def _whole(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name}={value!r} makes no sense", f"it is a whole number of at least {least}")


def _positive(name: str, value: object) -> None:
    if not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UsageError(f"{name}={value!r} makes no sense", "it is a number above 0")
