"""The gate `floor`: no faster than the bytes of the problem allow, and its FLOPs where they are known."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.proof.roof import Roof
from rocm_perf.optimize.proof.traffic import MustMove
from rocm_perf.units import format_bytes, format_ns, format_share


def prove_floor(moved: Sequence[MustMove], times_ns: Sequence[float], roof: Roof | None) -> Passage:
    """Whether the times of a candidate, one for each state, are possible."""
    if roof is None:
        return Passage("floor", passed=True, words="not judged: the catalogue does not know this GPU")
    shares = []
    for one, time_ns in zip(moved, times_ns, strict=True):
        least_ns = roof.least_ns(one.read_bytes, one.written_bytes, one.flops)
        if time_ns < least_ns:
            return Passage("floor", passed=False, words=_too_fast(one, time_ns, least_ns, roof))
        shares.append(least_ns / time_ns)
    what = "moved and computed" if any(one.flops for one in moved) else "moved"
    words = f"what must be {what} takes at least {format_share(max(shares))} of its time on {roof.name}"
    return Passage("floor", passed=True, words=words)


def _too_fast(moved: MustMove, time_ns: float, least_ns: float, roof: Roof) -> str:
    sizes = f"{format_bytes(moved.read_bytes)} to read and {format_bytes(moved.written_bytes)} to write"
    sizes += f", and {moved.flops:.4g} FLOPs" if moved.flops else ""
    needed = f"{roof.name} needs {format_ns(least_ns)} for {sizes}"
    return f"{format_ns(time_ns)} is too fast to be true: {needed}"
