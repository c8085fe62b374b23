"""Whether measured times are a reason to accept a candidate. Pure."""

from __future__ import annotations

from rocm_perf.model.results.optimize import Speedup
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.measure.program_ab import is_slower
from rocm_perf.optimize.measure.replay_ab import ByContents
from rocm_perf.units import format_share

MIN_GAIN = 0.02


def gain_passage(
    speedup: Speedup, min_gain: float = MIN_GAIN, noise: float = 0.0, by_contents: ByContents | None = None
) -> Passage:
    """The gate `gain`: the interval of the speedup lies above the least gain, and above what the original differs by
    from itself."""
    least = 1 + max(min_gain, noise)
    if speedup.interval is None:
        return Passage("gain", passed=False, words=f"{_shown(speedup)}, too few processes for an interval")
    passed = speedup.interval[0] > least
    wanted = f"more than {least:.3f}x is wanted" if noise <= min_gain else _noise_text(noise, least)
    known = "" if passed or by_contents is None else _contents_text(by_contents, least)
    return Passage("gain", passed=passed, words=f"{_shown(speedup)}; {wanted}{known}")


def program_passage(wall: Speedup, kernels: Speedup | None = None) -> Passage:
    """The gate `program`: no interval shows the program as a whole to be slower, by the wall clock or in the sum of its
    kernels."""
    sides = (("wall time", wall), ("kernels", kernels))
    shown = [f"{name} {_shown(one)}" for name, one in sides if one is not None]
    slower = [name for name, one in sides if one is not None and is_slower(one)]
    verdict = f"slower by {' and '.join(slower)}" if slower else "not slower than before"
    return Passage("program", passed=not slower, words=f"{', '.join(shown)}: {verdict}")


def _contents_text(gains: ByContents, least: float) -> str:
    """What to add where memory as captured is the only place where it gains."""
    if gains.captured <= least or gains.others > least:
        return ""
    return f"; {gains.captured:.3f}x on the captured contents, {gains.others:.3f}x on others: it recognises its input"


def _noise_text(noise: float, least: float) -> str:
    return (
        f"the original differs from itself by {format_share(noise)}, so that more than {least:.3f}x is wanted"
    )


def _shown(speedup: Speedup) -> str:
    bounds = speedup.interval
    shown = "" if bounds is None else f" ({bounds[0]:.3f}x to {bounds[1]:.3f}x)"
    return f"{speedup.value:.3f}x{shown}"
