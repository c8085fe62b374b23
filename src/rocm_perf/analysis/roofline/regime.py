"""Which ceiling binds a kernel, and what follows: compute, memory, latency, or not known and why."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_perf.model.results.roofline import Regime

# From half of a measured ceiling on, that ceiling is taken to bind. No benchmark reaches the peak of a data sheet: on
# an MI300X rocprof-compute measures 79 % of its HBM, 71 % of f16 and 40 % of bf16, so there a third is near enough.
NEAR = 50.0
NEAR_DATA_SHEET = 35.0
# What is above a peak was not measured well enough to say what binds; measured peaks vary by a little.
IMPLAUSIBLE = 105.0


class Percent(msgspec.Struct, frozen=True):
    """How near a kernel comes to one ceiling. A unit that computes several dtypes has their sum."""

    position: str  # "memory (HBM)", "compute (f16 matrix)"
    kind: str  # compute or memory
    value: float
    doubt: str | None = None
    near: float = NEAR


class Verdict(msgspec.Struct, frozen=True):
    """The ceiling that comes first, if any is known, and the regime with its reason."""

    binding: Percent | None
    regime: Regime
    reason: str


def verdict(percents: Sequence[Percent], missing: Sequence[str], analytical: bool) -> Verdict:
    """`missing`: what of the work, or of the ceilings, is not known."""
    if not percents:
        return Verdict(None, "unknown", "; ".join(missing))
    binding = max(percents, key=lambda percent: percent.value)
    near = next((p for p in sorted(percents, key=lambda p: -p.value) if p.value >= p.near), None)
    shown = f"{binding.value:.3g} % of {binding.position}"
    if binding.value > IMPLAUSIBLE:
        return Verdict(binding, "unknown", f"{shown}, which cannot be: {binding.doubt}")
    if near is not None:
        regime: Regime = "compute" if near.kind == "compute" else "memory"
        of = "a measured ceiling" if near.near == NEAR else "the peak of a data sheet"
        return Verdict(
            near, regime, f"{near.value:.3g} % of {near.position}: {near.near:g} % of {of} is near"
        )
    if missing:
        return Verdict(binding, "unknown", f"at least {shown}; {'; '.join(missing)}")
    if analytical:
        why = "it waits, or it moves and computes more than its operator needs"
        return Verdict(binding, "unknown", f"{shown} for the work that its shapes need: {why}")
    low = ", ".join(f"{percent.value:.3g} % of {percent.position}" for percent in percents)
    return Verdict(binding, "latency", f"{low}: near no ceiling")
