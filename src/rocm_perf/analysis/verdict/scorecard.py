"""A run against the targets of the usual inference tuning workflow. The values come from the other analyses; here they
meet their target."""

from __future__ import annotations

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

_WORKFLOW = "inference tuning workflow"
_OUR_READING = f"{_WORKFLOW}, which gives no number: 1 % is this tool's reading"


class _Target(msgspec.Struct, frozen=True):
    id: str
    title: str
    limit: float  # a share; met at or below `limit`, or below it where `strict`
    text: str
    source: str
    strict: bool = False


_GEMM = _Target("gemm-share", "GEMM share of GPU time", 0.60, "below 60 %", _WORKFLOW, strict=True)
_SYNC = _Target(
    "sync-share",
    "share of the wall in which the host waits for an idle GPU",
    0.05,
    "below 5 %",
    f"{_WORKFLOW}; waiting while the GPU works costs nothing and does not count",
    strict=True,
)
_GAPS = _Target("gap-share", "idle share of the GPU's window", 0.01, "near zero: at most 1 %", _OUR_READING)
_MEMORY = _Target(
    "memory-growth", "growth of memory in use between steps", 0.01, "stable: at most 1 %", _OUR_READING
)
_KERNELS = _Target(
    "kernel-count", "kernels against the base", 0.85, "at least 15 % fewer", f"{_WORKFLOW}, after fusion"
)


def scorecard(trace: Trace) -> tuple[Score, ...]:
    """A recording against every target that one run can be held to."""
    reason = idle_is_the_profilers(trace) or no_kernels(trace)
    return scores(
        gemm_share=family_totals(trace).gemm_share,
        sync_share=_doubted(waiting(trace).lost_share, reason),
        gap_share=_doubted(gap_share(device_times(trace)), reason),
        memory_growth=memory_growth(memory(trace)),
    )


def scores(
    *, gemm_share: Quantity, sync_share: Quantity, gap_share: Quantity, memory_growth: Quantity
) -> tuple[Score, ...]:
    """Every value is a share: of GPU time, of the wall, of the GPU's window, of the memory in use a step before."""
    return (
        _score(_GEMM, gemm_share),
        _score(_SYNC, sync_share),
        _score(_GAPS, gap_share),
        _score(_MEMORY, memory_growth),
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
        return _score(_KERNELS, unavailable("", formula, "the base holds no kernels"))
    return _score(
        _KERNELS, Quantity(value=new / base, unit="", formula=formula, inputs={"base": base, "new": new})
    )


def _score(target: _Target, value: Quantity) -> Score:
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
        source=_WORKFLOW,
        reason=reason,
    )
