"""Recordings that hold copies and no kernel: what ran between the copies is not known, so idle time means nothing."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.launched import timed_calls
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.trust.lost import single_losses
from rocm_perf.model.trace import Trace

_MISSING = 0.2  # of the correlation ids from the first to the last: from here on, calls were left out
_WITH_KERNELS = ("dispatches", "counters")


class CopiesAlone(NamedTuple):
    """The calls beside copies without kernels. The ids from the first to the last of each process are in range."""

    calls: int
    launches: int
    ids: int
    ids_in_range: int

    @property
    def lacks_calls(self) -> bool:
        """Whether so many ids are missing that calls were left out, launches perhaps among them."""
        return self.ids < (1 - _MISSING) * self.ids_in_range


@once_per_trace
def copies_alone(trace: Trace) -> CopiesAlone | None:
    """None where kernels were recorded, or where they may not have been launched: a part of a program may launch
    nothing."""
    if not trace.has("copies") or any(map(trace.has, _WITH_KERNELS)):
        return None
    alone = _beside_copies(trace)
    is_part = trace.run.window is not None or trace.has("windows")
    told = not alone.calls or alone.launches or alone.lacks_calls
    return None if is_part and not told else alone


def no_kernels(trace: Trace) -> str | None:
    """Why the time between copies is not idle time, where it is not known to be."""
    if copies_alone(trace) is None:
        return None
    return "no kernel is in the recording: what ran between the copies is not known"


def _beside_copies(trace: Trace) -> CopiesAlone:
    calls = timed_calls(trace)
    number = pl.col("correlation_id")
    ids = (
        calls.drop_nulls("correlation_id")
        .group_by("node", "pid")
        .agg(number.n_unique().alias("recorded"), (number.max() - number.min() + 1).alias("in_range"))
    )
    return CopiesAlone(
        calls=calls.height,
        launches=single_losses(trace).launched,
        ids=int(ids["recorded"].sum()),
        ids_in_range=int(ids["in_range"].sum()),
    )
