"""How well the samples so far know their median, cheaply enough to ask between batches."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rocm_perf.statistics import series

_HALF_95 = 0.98  # 1.96 standard deviations of the share of samples below their median, which is 0.5 / sqrt(n)


def noise(times: Sequence[float]) -> float:
    """Half the 95 % interval of the median as a share of it: between the quantiles that a binomial count reaches,
    with as many samples as independent ones would tell as much. Infinite for too few."""
    if len(times) < series.FEWEST_SAMPLES:
        return math.inf
    reach = min(0.5, _HALF_95 / math.sqrt(series.effective_count(times)))
    ordered = sorted(times)
    width = series.quantile(ordered, 0.5 + reach) - series.quantile(ordered, 0.5 - reach)
    return width / 2 / series.quantile(ordered, 0.5)
