"""How program counters can be sampled on a chip: what was asked for, or the nearest that works there.

Stochastic sampling counts cycles in powers of two; host traps come at a time in microseconds (AMD, "Using PC
sampling"). Where a chip has no stochastic sampling, or nobody has reported that it has, host traps take its place.
"""

from __future__ import annotations

from rocm_perf.backends.amd.chips import method_doubt, method_refusal
from rocm_perf.backends.base import PcSampling
from rocm_perf.backends.machine import Version

_CYCLES = 1_048_576  # what AMD's documentation begins with
_MICROSECONDS = 1_000


def supported_sampling(asked: PcSampling, gfx: str, rocm: Version) -> tuple[PcSampling, tuple[str, ...]]:
    """What to ask the tool for, and a notice for each change."""
    if asked.method == "host_trap":
        return _host_trap(asked)
    stochastic = "pc_sampling_stochastic"
    lacking = method_refusal(gfx, stochastic, rocm) or method_doubt(gfx, stochastic)
    if lacking:
        why = f"PC sampling by host traps instead of stochastic: {lacking}"
        return PcSampling("host_trap", "time", _MICROSECONDS), (why,)
    return _stochastic(asked)


def _host_trap(asked: PcSampling) -> tuple[PcSampling, tuple[str, ...]]:
    if asked.unit == "time":
        return asked, ()
    notice = f"host traps are timed: every {_MICROSECONDS} us, instead of {asked.interval} {asked.unit}"
    return PcSampling("host_trap", "time", _MICROSECONDS), (notice,)


def _stochastic(asked: PcSampling) -> tuple[PcSampling, tuple[str, ...]]:
    if asked.unit != "cycles":
        notice = (
            f"stochastic sampling counts cycles: every {_CYCLES}, instead of {asked.interval} ({asked.unit})"
        )
        return PcSampling("stochastic", "cycles", _CYCLES), (notice,)
    power = 1 << (asked.interval.bit_length() - 1)
    if power == asked.interval:
        return asked, ()
    notice = f"stochastic sampling takes powers of two: every {power} cycles, instead of {asked.interval}"
    return PcSampling("stochastic", "cycles", power), (notice,)
