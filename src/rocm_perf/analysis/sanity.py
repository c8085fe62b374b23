"""Anything in a recording that cannot be, or that would mislead, with examples. What is missing from a recording is
said by coverage.py; what lies above a GPU's peak, where peaks are known."""

from __future__ import annotations

from rocm_perf.analysis import sanity_order, sanity_passes, sanity_times, sanity_values
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace

_WEIGHT = {"error": 0, "warning": 1, "info": 2}
_CHECKS = (
    sanity_times.ends_before_start,
    sanity_times.zero_durations,
    sanity_times.equal_durations,
    sanity_times.coarse_times,
    sanity_times.mixed_clocks,
    sanity_order.clock_steps_back,
    sanity_order.kernels_before_launch,
    sanity_order.queue_overlap,
    sanity_order.duplicate_dispatches,
    sanity_order.reused_correlation_ids,
    sanity_passes.passes_run_different_kernels,
    sanity_passes.passes_differ_in_time,
    sanity_passes.counters_differ_between_passes,
    sanity_values.impossible_counters,
    sanity_values.waves_and_grid,
    sanity_values.above_hundred_percent,
    sanity_values.inconsistent_statistics,
    sanity_values.impossible_samples,
    sanity_values.impossible_copies,
    sanity_values.stall_exceeds_latency,
)


def sanity(trace: Trace) -> tuple[Finding, ...]:
    """Every implausible thing, the worst first; empty if nothing is."""
    found = [finding for check in _CHECKS for finding in check(trace)]
    return tuple(sorted(found, key=lambda finding: _WEIGHT[finding.severity]))
