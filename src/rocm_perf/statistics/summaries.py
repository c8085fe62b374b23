"""One list of times in a few numbers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.statistics.series import quantile


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One list of times, in the unit that they came in."""

    count: int
    mean: float
    median: float
    std: float  # of the sample (n - 1); 0 for a single time
    min: float
    max: float
    p5: float
    p95: float
    p99: float


def summary(times: Sequence[float]) -> Summary:
    """The usual numbers of at least one time."""
    ordered = sorted(times)
    return Summary(
        count=len(ordered),
        mean=statistics.fmean(ordered),
        median=quantile(ordered, 0.5),
        std=statistics.stdev(ordered) if len(ordered) > 1 else 0.0,
        min=ordered[0],
        max=ordered[-1],
        p5=quantile(ordered, 0.05),
        p95=quantile(ordered, 0.95),
        p99=quantile(ordered, 0.99),
    )
