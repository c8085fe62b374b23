"""Whether the times of a recording are the program's, or those of a profiler that stopped the program to measure."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.model.run import LENGTHS, Numbering
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns

_MANY = 20  # fewer kernels may have one length by chance
_NUMBERED = 100  # events: of fewer, some may be missing for other reasons
_FOLLOWED = 0.8  # of the numbers of events are followed by the next one where few are missing
_LENGTH = pl.col("end_ns") - pl.col("start_ns")


def only_lengths(trace: Trace) -> str | None:
    """Return why nothing can be said of when kernels ran: their times are lengths, laid end to end."""
    return (
        "the profiler recorded how long each kernel took, not when it ran"
        if trace.run.clock == LENGTHS
        else None
    )


@once_per_trace
def times_are_not_kernels(trace: Trace) -> str | None:
    """Why the times of dispatches are not those of kernels: different kernels have exactly one length."""
    dispatches = timed_dispatches(trace)
    shortest, longest = dispatches.select(_LENGTH.min(), longest=_LENGTH.max()).row(0)
    if dispatches.height < _MANY or shortest != longest or not longest:
        return None
    kernels = dispatches["kernel"].n_unique()
    if kernels < 2:
        return None
    return f"{dispatches.height:,} dispatches of {kernels:,} kernels: {format_ns(longest)} each"


@once_per_trace
def idle_is_the_profilers(trace: Trace) -> str | None:
    """Why the time between kernels is not the program's idle time: the profiler ran them one by one to count, or kept
    no times of theirs, or most of what lay between them was taken out of the recording."""
    if why := only_lengths(trace):
        return why
    if times_are_not_kernels(trace):
        return "the times are the profiler's measuring ranges, not those of kernels"
    if trace.has("dispatches") and _counted_while_timed(trace):
        return (
            "kernels ran one by one while their counters were read: the time between them is the profiler's"
        )
    if (numbers := thinned(trace)) is not None:
        absent = numbers.numbered - numbers.recorded
        return (
            f"{absent:,} of {numbers.numbered:,} events are missing from the recording: what lies between its kernels "
            "is not known"
        )
    return None


def thinned(trace: Trace) -> Numbering | None:
    """The numbers of events of a recording from which many were taken out: usually the next number follows, also where
    a recording was cut out of a longer one."""
    numbers = trace.run.numbering
    if numbers is None or numbers.recorded < _NUMBERED:
        return None
    return numbers if numbers.followed < _FOLLOWED * numbers.recorded else None


def _counted_while_timed(trace: Trace) -> bool:
    """Whether counters, or metrics made of them, were collected in the pass whose times are shown."""
    if not trace.has("counters"):
        return trace.has("metrics")
    passes = trace.lazy("counters").select((pl.col("pass_id") == timed_pass(trace)).any())
    return bool(passes.collect().item())
