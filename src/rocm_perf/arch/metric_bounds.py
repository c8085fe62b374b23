"""Values that a metric cannot have: one outside its bounds is kept, and doubted with the likely cause."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import polars as pl

from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metric_data import Metric, peak

_ROUNDING = 1e-9


class Bounds(msgspec.Struct, frozen=True):
    """Limits that no true value exceeds, and what to say about one that does."""

    low: float | None
    high: float | None
    below: str
    above: str

    def broken_by(self, value: float) -> Iterator[str]:
        """The doubts about a value; none if it is within the bounds."""
        if self.low is not None and value < self.low:
            yield self.below
        if self.high is not None and value > self.high * (1 + _ROUNDING):
            yield self.above

    def broken_by_column(self, value: pl.Expr) -> Iterator[pl.Expr]:
        """The doubts about a column of values, null where a value is within the bounds."""
        if self.low is not None:
            yield pl.when(value < self.low).then(pl.lit(self.below))
        if self.high is not None:
            yield pl.when(value > self.high * (1 + _ROUNDING)).then(pl.lit(self.above))


def bounds_of(metric: Metric, gpu: Gpu) -> Bounds:
    """The bounds of a metric on a GPU."""
    high = peak(gpu, metric.high) if isinstance(metric.high, str) else metric.high
    limit = f"{high:g} {metric.unit}".strip() if high is not None else ""
    whose = f", the peak of {gpu.name}" if isinstance(metric.high, str) else ""
    cause = f": likely {metric.cause}" if metric.cause else ""
    below = f"below {metric.low:g}{cause}" if metric.low is not None else ""
    return Bounds(low=metric.low, high=high, below=below, above=f"above {limit}{whose}{cause}")
