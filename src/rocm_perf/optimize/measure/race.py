"""A first look at the times of candidates, on one state. It says who is worth a longer look, and decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.model.results.optimize import Speedup
from rocm_perf.optimize.proof.states import State, Variant
from rocm_perf.replay.errors import KernelFailedError
from rocm_perf.replay.plan import Options
from rocm_perf.statistics.series import median, median_ratio
from rocm_perf.units import format_count

_WARMUP = 3
_AT_ONCE = 12  # codes in one process
_BASE = "base"


def race(state: State, variants: Sequence[Variant], base: Variant, launches: int) -> list[Speedup]:
    """Each against what it changes, all launched by turns in one process, or in a few where there are many. Raises
    where one of them fails."""
    parts = [variants[start : start + _AT_ONCE] for start in range(0, len(variants), _AT_ONCE)]
    return [speedup for part in parts for speedup in _raced(state, part, base, launches)]


def _raced(state: State, variants: Sequence[Variant], base: Variant, launches: int) -> list[Speedup]:
    new = [state.code(variant, f"new{number}") for number, variant in enumerate(variants)]
    options = Options(codes=(state.code(base, _BASE), *new), iterations=launches, warmup=_WARMUP)
    times = state.replayer.run(options).samples_ns
    if any(
        len(times.get(code.label, ())) != launches or min(times[code.label]) <= 0 for code in options.codes
    ):
        raise KernelFailedError("the runner gave no usable times")
    return [_speedup(times[_BASE], times[code.label]) for code in new]


def _speedup(base: Sequence[float], new: Sequence[float]) -> Speedup:
    ratio = median_ratio(base, new)
    return Speedup(
        base_ns=median(base),
        new_ns=median(new),
        value=ratio.value,
        interval=ratio.interval,
        how=f"one process, {format_count(len(new), 'launch', 'launches')} of each by turns",
    )
