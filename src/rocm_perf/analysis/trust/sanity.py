"""Anything in a recording that cannot be, or that would mislead, with examples. What is missing from a recording is
said by coverage.py; what lies above a GPU's peak, where peaks are known."""

from __future__ import annotations

from rocm_perf.analysis.trust import order, passes, times, values
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace

_WEIGHT = {"error": 0, "warning": 1, "info": 2}
_CHECKS = (
    times.ends_before_start,
    times.zero_durations,
    times.equal_durations,
    times.coarse_times,
    times.mixed_clocks,
    order.clock_steps_back,
    order.kernels_before_launch,
    order.queue_overlap,
    order.duplicate_dispatches,
    order.reused_correlation_ids,
    passes.passes_run_different_kernels,
    passes.passes_differ_in_time,
    passes.counters_differ_between_passes,
    values.impossible_counters,
    values.counters_at_zero,
    values.waves_and_grid,
    values.above_hundred_percent,
    values.inconsistent_statistics,
    values.impossible_samples,
    values.impossible_copies,
    values.stall_exceeds_latency,
)


def sanity(trace: Trace) -> tuple[Finding, ...]:
    """Every implausible thing, the worst first; empty if nothing is."""
    findings = [finding for check in _CHECKS for finding in check(trace)]
    return tuple(sorted(findings, key=lambda finding: _WEIGHT[finding.severity]))
