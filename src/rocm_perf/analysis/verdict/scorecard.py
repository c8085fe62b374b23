"""A run against the targets of the usual inference tuning workflow. The values come from the other analyses; here they
meet their target."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers
from rocm_perf.analysis.idle.copies_alone import no_kernels
from rocm_perf.analysis.idle.sync import waiting
from rocm_perf.analysis.memory.levels import memory
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.time.families import family_totals
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.memory import Memory
from rocm_perf.model.results.scorecard import Score
from rocm_perf.model.results.times import DeviceTime
from rocm_perf.model.trace import Trace

WORKFLOW = "inference tuning workflow"
OUR_READING = f"{WORKFLOW}, which gives no number: 1 % is this tool's reading"


class Target(msgspec.Struct, frozen=True):
    """What a value is held to."""

    id: str
    title: str
    limit: float  # a share; met at or below `limit`, or below it where `strict`
    text: str
    source: str
    strict: bool = False


GEMM = Target("gemm-share", "GEMM share of GPU time", 0.60, "below 60 %", WORKFLOW, strict=True)
SYNC_LOST = Target(
    "sync-share",
    "share of the wall in which the host waits for an idle GPU",
    0.05,
    "below 5 %",
    f"{WORKFLOW}; waiting while the GPU works costs nothing and does not count",
    strict=True,
)
GAPS = Target("gap-share", "idle share of the GPU's window", 0.01, "near zero: at most 1 %", OUR_READING)
_MEMORY = Target(
    "memory-growth", "growth of memory in use between steps", 0.01, "stable: at most 1 %", OUR_READING
)
KERNELS = Target(
    "kernel-count", "kernels against the base", 0.85, "15 to 20 % fewer", f"{WORKFLOW}, after fusion"
)


class Shares(NamedTuple):
    """The shares that a run is judged by."""

    gemm: Quantity  # of GPU time
    sync: Quantity  # of the wall: the host is in a synchronising call
    sync_lost: Quantity  # of the wall: it is, and no kernel and no copy runs
    gaps: Quantity  # of the GPU's window


def shares(trace: Trace) -> Shares:
    """Return the shares of a recording; those of idle time are doubted where the profiler caused it."""
    reason = idle_is_the_profilers(trace) or no_kernels(trace)
    waits = waiting(trace)
    return Shares(
        gemm=family_totals(trace).gemm_share,
        sync=_doubted(waits.share, reason),
        sync_lost=_doubted(waits.lost_share, reason),
        gaps=_doubted(gap_share(device_times(trace)), reason),
    )


def scorecard(trace: Trace) -> tuple[Score, ...]:
    """A recording against every target that one run can be held to."""
    known = shares(trace)
    return scores(
        gemm_share=known.gemm,
        sync_share=known.sync_lost,
        gap_share=known.gaps,
        memory_growth=memory_growth(memory(trace)),
    )


def scores(
    *, gemm_share: Quantity, sync_share: Quantity, gap_share: Quantity, memory_growth: Quantity
) -> tuple[Score, ...]:
    """Every value is a share: of GPU time, of the wall, of the GPU's window, of the memory in use a step before."""
    return (
        score(GEMM, gemm_share),
        score(SYNC_LOST, sync_share),
        score(GAPS, gap_share),
        score(_MEMORY, memory_growth),
        _correctness(),
    )


def _doubted(value: Quantity, reason: str | None) -> Quantity:
    return replace(value, doubt=reason) if reason else value


def gap_share(devices: tuple[DeviceTime, ...]) -> Quantity:
    """Idle share of the GPU that was busy for longest."""
    formula = "idle_ns / window_ns of the busiest GPU"
    if not devices:
        return unavailable("", formula, "no kernel and no copy with times was recorded")
    busiest = max(devices, key=lambda device: device.busy_ns)
    return ratio(busiest.idle_ns, busiest.window_ns, formula, "idle_ns", "window_ns")


def memory_growth(in_use: Memory) -> Quantity:
    """Growth from step to step as a share of the peak; that of the GPU and level where it is largest."""
    formula = "growth_bytes a step / peak_bytes"
    grown = [
        (row.growth.per_step.value or 0, row.peak_bytes)
        for row in in_use.rows
        if row.growth and row.peak_bytes > 0
    ]
    if not grown:
        reasons = [row.growth_unavailable for row in in_use.rows if row.growth_unavailable]
        return unavailable(
            "", formula, in_use.unavailable or next(iter(reasons), "memory in use was not recorded")
        )
    growth, peak = max(grown, key=lambda pair: pair[0] / pair[1])
    return Quantity(
        value=growth / peak, unit="", formula=formula, inputs={"growth_bytes": growth, "peak_bytes": peak}
    )


def kernel_count(base: float, new: float, counted: str) -> Score:
    """Kernels of `new` as a share of those of `base`; `counted` says per what."""
    formula = f"kernels {counted} of new / of base"
    if not base:
        return score(KERNELS, unavailable("", formula, "the base holds no kernels"))
    return score(
        KERNELS, Quantity(value=new / base, unit="", formula=formula, inputs={"base": base, "new": new})
    )


def score(target: Target, value: Quantity) -> Score:
    """Return the value beside its target; one that is unknown or doubtful has no verdict."""
    reason = value.unavailable or value.doubt
    if value.value is None or reason:
        return Score(
            id=target.id,
            title=target.title,
            value=value,
            target=target.text,
            verdict="unknown",
            source=target.source,
            reason=reason,
        )
    met = value.value < target.limit if target.strict else value.value <= target.limit
    return Score(
        id=target.id,
        title=target.title,
        value=value,
        target=target.text,
        verdict="met" if met else "missed",
        source=target.source,
    )


def _correctness() -> Score:
    reason = (
        "a recording holds no outputs: compare those of both versions in the program itself (torch.allclose)"
    )
    return Score(
        id="correctness",
        title="outputs equal those of the base",
        value=unavailable("", "allclose(outputs of new, outputs of base)", reason),
        target="allclose, atol 1e-2 for half precision",
        verdict="unknown",
        source=WORKFLOW,
        reason=reason,
    )
