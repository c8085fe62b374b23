"""What makes a recording unable to tell: said first, since idle time, totals or times mean little there."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from rocm_perf.analysis.basis.intervals import union_ns
from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.basis.profiled_times import idle_is_the_profilers, thinned, times_are_not_kernels
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.trust.lost import excerpts, launches, replays, single_losses
from rocm_perf.analysis.verdict.capture import only_captured
from rocm_perf.analysis.verdict.host_only import host_only
from rocm_perf.analysis.verdict.only_copies import only_copies
from rocm_perf.analysis.verdict.unrecorded import share_of_waits, waited_for_unrecorded
from rocm_perf.model.finding import Finding
from rocm_perf.model.run import ROUNDED_FILE, ROUNDED_ROWS, Numbering
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

# From these shares on, what is missing changes what is said about the rest.
_MISSING = 0.2  # of the numbered dispatches, which are at least
_NUMBERED = 100  # : a few numbers may have gone to other things
_LOST = 0.05  # of the launches, or of the kernels of graphs
_MOST = 0.5  # of the time or the kernels: where less is missing, what is there says more
WAITS = "waits-for-unrecorded-work"
# The ids of what is found here, by which it comes first where parts of a recording become one.
DOUBTS = frozenset(
    {
        "graph-capture",
        "nothing-readable",
        "nothing-recorded",
        "no-steps",
        "host-alone",
        "ran-on-cpu",
        "unknown-accelerator",
        "start-up",
        "gpu-not-recorded",
        "only-copies",
        "times-rounded",
        "times-of-the-profiler",
        "dispatches-missing",
        "events-missing",
        "graph-kernels-lost",
        "kernels-lost",
        WAITS,
    }
)


def leads(doubt: Finding, trace: Trace) -> bool:
    """Return whether a doubt comes before everything else: whether most of the time is not in the recording."""
    if doubt.id == WAITS:
        return share_of_waits(trace) > _MOST
    if doubt.id == "kernels-lost":
        lost, launched = single_losses(trace)
        return lost > _MOST * launched
    if doubt.id == "events-missing" and (numbers := thinned(trace)) is not None:
        return numbers.numbered - numbers.recorded > _MOST * numbers.numbered
    if doubt.id == "dispatches-missing" and (counted := excerpts(trace)) is not None:
        return counted.numbered - counted.recorded > _MOST * counted.numbered
    found = replays(trace) if doubt.id == "graph-kernels-lost" else None
    return found is None or found.missing > _MOST * (found.missing + found.recorded)


def doubts(trace: Trace) -> tuple[Finding, ...]:
    """Findings that come before all others, the most fundamental first; empty for a recording that can tell."""
    if (capture := only_captured(trace)) is not None:  # what its launches lack was never to run
        return (capture,)
    return tuple(finding for check in _CHECKS if (finding := check(trace)) is not None)


def _not_kernel_times(trace: Trace) -> Finding | None:
    reason = times_are_not_kernels(trace)
    if reason is None:
        return None
    return Finding(
        id="times-of-the-profiler",
        severity="error",
        kind="cannot-tell",
        title="The times are the profiler's, not the program's: no kernel was timed",
        evidence=(f"all kernels have exactly the same duration: {reason}", *_measured_launches(trace)),
        remedy=remedy("record-times", setting(trace)),
    )


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _measured_launches(trace: Trace) -> list[str]:
    """How long each launch took, in which the profiler measured its kernel."""
    calls = launches(trace).sort("calls", descending=True)
    if not calls.height:
        return []
    count, spent = int(calls["calls"].sum()), int(calls["total_ns"].sum())
    return [
        f"{count:,} calls such as {calls['name'][0]} take {format_ns(spent / count)} on average: "
        "each kernel is measured inside"
    ]


def _thinned(trace: Trace) -> Finding | None:
    if (numbers := thinned(trace)) is not None:
        return _events_missing(numbers)
    found = excerpts(trace)
    if found is None or found.numbered < _NUMBERED or idle_is_the_profilers(trace):
        return None
    if found.recorded > (1 - _MISSING) * found.numbered:
        return None
    absent = found.numbered - found.recorded
    return Finding(
        id="dispatches-missing",
        severity="warning",
        kind="unrecorded-work",
        title=f"{format_share(absent / found.numbered)} of the dispatches are missing from the recording",
        evidence=(
            f"{found.recorded:,} of the {found.numbered:,} dispatches from Dispatch_Id {found.first:,} to "
            f"{found.last:,} are here, in {format_count(found.runs, 'run')} of consecutive numbers",
            *_within_runs(trace),
        ),
        remedy="Idle time and totals of the whole mean nothing; kernels may be compared with one another. Keep every "
        f"row of the file, or: {_lowered(remedy('record-complete', setting(trace)))}",
    )


def _events_missing(numbers: Numbering) -> Finding:
    absent = numbers.numbered - numbers.recorded
    return Finding(
        id="events-missing",
        severity="warning",
        kind="unrecorded-work",
        title=f"{format_share(absent / numbers.numbered)} of the events are missing from the recording",
        evidence=(
            f"{numbers.recorded:,} of the {numbers.numbered:,} events that the profiler numbered ({numbers.counter}) "
            f"are here, and {format_share(numbers.followed / numbers.recorded)} of them are followed by the next one",
        ),
        remedy="The file was thinned after it was recorded: idle times, totals and counts of the whole mean nothing; "
        "kernels may be compared with one another. Take the file as the profiler wrote it.",
    )


def _within_runs(trace: Trace) -> list[str]:
    """How busy the GPU was between dispatches that follow one another, and with what."""
    new = (pl.col("dispatch_id").diff() != 1).fill_null(True)
    numbered = (
        timed_dispatches(trace).sort("node", "pid", "dispatch_id").with_columns(new.cum_sum().alias("run"))
    )
    runs = union_ns(numbered, ["run"]).filter(pl.col("count") > 1)
    share = runs.select((pl.col("union_ns") / (pl.col("last_ns") - pl.col("first_ns"))).median()).item()
    rows = hotspots(trace, "short").rows
    busy = [f"within a run the GPU is busy {format_share(share)} of the time (median)"] if share else []
    first = (
        f"{row.short_name} takes {format_share(row.share)} of the kernel time that is here"
        for row in rows[:1]
    )
    return [*busy, *first]


def _lost_replays(trace: Trace) -> Finding | None:
    found = replays(trace)
    if found is None or not trace.has("dispatches"):
        return None
    if found.missing < _LOST * (found.missing + found.recorded):
        return None
    none = f", {found.empty:,} of them none" if 0 < found.empty < found.short else ""
    fewer = "left no kernel" if found.empty == found.short else "left fewer kernels than others"
    whole = (
        f"a whole replay leaves {found.usual:,}: about {found.missing:,} kernels and copies are missing"
        if found.usual
        else "what a replay runs is not in the recording at all"
    )
    return Finding(
        id="graph-kernels-lost",
        severity="error",
        kind="unrecorded-work",
        title=f"{found.short:,} of {found.launched:,} graph replays {fewer} in the recording",
        evidence=(f"{found.function}: {found.short:,} of {found.launched:,} {fewer}{none}", whole),
        remedy="What looks like idle time may be work: idle times and totals are unreliable. "
        + remedy("unrecorded-work", setting(trace).with_graphs(True)),
    )


def _lost_launches(trace: Trace) -> Finding | None:
    lost, launched = single_losses(trace)
    if not lost or lost < _LOST * launched or not (trace.has("dispatches") or trace.has("copies")):
        return None
    return Finding(
        id="kernels-lost",
        severity="error",
        kind="unrecorded-work",
        title=f"{lost:,} of {format_count(launched, 'launch', 'launches')} left no kernel in the recording",
        evidence=(
            f"{format_share(lost / launched)} of the launching calls have no kernel with their correlation id",
        ),
        remedy=f"Idle times and totals are unreliable. {remedy('record-complete', setting(trace))}",
    )


def _rounded_times(trace: Trace) -> Finding | None:
    rounded = any(loss.what == ROUNDED_ROWS for loss in trace.run.losses) or ROUNDED_FILE in trace.run.notices
    if not rounded or not trace.has("dispatches") or timed_dispatches(trace).height:
        return None
    return Finding(
        id="times-rounded",
        severity="warning",
        kind="cannot-tell",
        title="How long kernels take cannot be told: their times were rounded",
        evidence=(
            "the program that last saved the file wrote times such as 8.1097E+14, whose nanoseconds are gone",
        ),
        remedy="Use the counted values only. For times, take the file as the profiler wrote it, or record again.",
    )


_CHECKS: tuple[Callable[[Trace], Finding | None], ...] = (
    host_only,
    only_copies,
    _rounded_times,
    _not_kernel_times,
    _thinned,
    _lost_replays,
    _lost_launches,
    waited_for_unrecorded,
)
