"""What traced or sampled waves wait for: readings and causes from a thread trace, or else from PC samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocm_perf.analysis.kernels.instructions import (
    BOTH_WAITS,
    SCALAR_WAIT,
    STORE_WAIT,
    VECTOR_WAIT,
    stall_cause,
    thread_trace,
)
from rocm_perf.analysis.kernels.pc_samples import pc_samples
from rocm_perf.analysis.limits.catalogue import catalogue, remedy
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.instructions import KernelInstructions, KernelSamples
from rocm_perf.model.results.limits import Cause, Certainty, Reading, Source
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_share

LEAST, CLEAR = 0.3, 0.5  # of the cycles or samples: waiting is a cause, and is the cause
_SHOWN = 0.01
# What instructions that waves stall at wait for, by the cause that follows.
_WAITS = {
    VECTOR_WAIT: "memory-latency",
    BOTH_WAITS: "memory-latency",
    STORE_WAIT: "memory-latency",
    SCALAR_WAIT: "local-latency",
    "barrier": "barriers",
}


def traced_limits(trace: Trace) -> dict[str, tuple[list[Reading], list[Cause]]]:
    """Return readings and causes by kernel; a thread trace says more than samples of the same kernel."""
    sampled = {row.kernel: _sampled(row) for row in pc_samples(trace).kernels if row.kernel and row.samples}
    traced = {
        row.kernel: _traced(row) for row in thread_trace(trace).kernels if row.kernel and row.latency_cycles
    }
    return {**sampled, **traced}


def _traced(row: KernelInstructions) -> tuple[list[Reading], list[Cause]]:
    shares = {one.cause: one.stall_cycles / row.latency_cycles for one in row.causes}
    hottest = [(one.text, one.source, one.share) for one in row.hottest]
    formula = "stall cycles at such instructions / cycles of all instructions"
    return _limits(str(row.kernel), shares, hottest, "thread trace", formula)


def _sampled(row: KernelSamples) -> tuple[list[Reading], list[Cause]]:
    shares: dict[str, float] = {}
    for one in row.instructions:
        cause = stall_cause(one.name)
        shares[cause] = shares.get(cause, 0.0) + one.share
    hottest = [(one.name, one.source, one.share) for one in row.instructions]
    return _limits(
        str(row.kernel), shares, hottest, "PC samples", "samples at such instructions / all samples"
    )


def _limits(
    kernel: str,
    shares: Mapping[str, float],
    hottest: list[tuple[str, str | None, float]],
    source: Source,
    formula: str,
) -> tuple[list[Reading], list[Cause]]:
    waits = {name: share for name, share in shares.items() if name in _WAITS}
    readings = [
        Reading(
            name=f"{source}: {name}",
            group="waits",
            title=f"share of their time that waves are at a {name}",
            value=Quantity(share, "", formula),
            source=source,
        )
        for name, share in waits.items()
        if share >= _SHOWN
    ]
    by_cause: dict[str, float] = {}
    for name, share in waits.items():
        by_cause[_WAITS[name]] = by_cause.get(_WAITS[name], 0.0) + share
    causes = [
        _cause(kernel, cause, share, list(_at(cause, hottest)), source)
        for cause, share in by_cause.items()
        if share >= LEAST
    ]
    return readings, causes


def _at(cause: str, hottest: list[tuple[str, str | None, float]]) -> Iterator[str]:
    """Yield the costliest instructions that wait for this, with their source lines."""
    for text, line, share in hottest:
        if _WAITS.get(stall_cause(text)) == cause and share >= _SHOWN:
            yield f"{text}{f' ({line})' if line else ''} {format_share(share)}"


def _cause(kernel: str, cause: str, share: float, at: list[str], source: Source) -> Cause:
    what = {"memory-latency": "memory", "local-latency": "LDS or scalar memory", "barriers": "barriers"}[
        cause
    ]
    seen = "of the cycles of its traced instructions" if source == "thread trace" else "of its samples"
    certainty: Certainty = "proven" if share >= CLEAR else "likely"
    return Cause(
        id=cause,
        share=share,
        saves=min(1.0, share),
        certainty=certainty,
        title=f"its waves wait for {what} in {format_share(share)} {seen}",
        evidence=(f"costliest waits: {', '.join(at[:3])}",) if at else (),
        remedy=remedy(cause, kernel),
        source=source,
        is_not=catalogue()[cause].is_not,
    )
