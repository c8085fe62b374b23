"""Start and end times that cannot be right: lengths, resolution, and clocks that do not belong together."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from rocm_perf.analysis.basis.keys import grouped
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_dispatches, timed_pass
from rocm_perf.analysis.basis.profiled_times import times_are_not_kernels
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_S, NS_PER_US, format_count, format_ns, format_share

_SPANS = {"copies": "kind", "api_calls": "name", "ops": "name", "ranges": "name", "collectives": "name"}
_TIMED = ("dispatches", "copies", "api_calls", "ops", "ranges")
_LENGTH = pl.col("end_ns") - pl.col("start_ns")

_MANY = 20  # fewer events than this show no pattern
_ZERO_SHARE = 0.05
_HOUR_NS = 3600 * NS_PER_S
_HOLE_SHARE = 0.99  # of the window: what is left around such a hole lies on both its sides, close together
_TICKS_PER_KERNEL = 20  # with fewer ticks in a kernel, its time is off by more than 5 %


def ends_before_start(trace: Trace) -> list[Finding]:
    """Host activity and copies; kernels are checked by coverage."""
    evidence = []
    for table, name in _SPANS.items():
        if not trace.has(table):
            continue
        bad = trace.lazy(table).filter(_LENGTH < 0).select(name, _LENGTH.alias("length")).collect()
        if bad.height:
            label, length = bad.row(0)
            evidence.append(
                f"{bad.height:,} of {trace.rows(table):,} {table}: {label} lasts {format_ns(length)}"
            )
    if not evidence:
        return []
    return [
        Finding(
            id="ends-before-start",
            severity="error",
            title="Events end before they start",
            evidence=tuple(evidence),
            remedy="They are left out of every sum. The profiler's clock conversion failed: record again.",
        )
    ]


def zero_durations(trace: Trace) -> list[Finding]:
    """Many kernels of no length: the time stamps are coarser than the kernels, or were never taken."""
    dispatches = timed_dispatches(trace)
    zero = dispatches.filter(_LENGTH == 0)
    if dispatches.height < _MANY or zero.height < _ZERO_SHARE * dispatches.height:
        return []
    names = zero["kernel"].value_counts(sort=True).head(3)
    return [
        Finding(
            id="zero-durations",
            severity="warning",
            title=f"{zero.height:,} of {dispatches.height:,} kernels have no duration",
            evidence=tuple(f"{short_name(name)}: {count:,} times" for name, count in names.iter_rows()),
            remedy="Their time is missing from every sum and share. Record with a tool that keeps nanoseconds.",
        )
    ]


def equal_durations(trace: Trace) -> list[Finding]:
    """Different kernels with exactly the same duration: the times were assigned, not measured."""
    reason = times_are_not_kernels(trace)
    if reason is None:
        return []
    return [
        Finding(
            id="equal-durations",
            severity="error",
            title="All kernels have exactly the same duration",
            evidence=(reason,),
            remedy="These are the profiler's measuring ranges, not kernel times: take times from a separate trace.",
        )
    ]


def coarse_times(trace: Trace) -> list[Finding]:
    """Whole microseconds everywhere; the next digits were not recorded."""
    dispatches = timed_dispatches(trace)
    times = dispatches.select("start_ns", "end_ns", _LENGTH.alias("length"))
    if times.height < _MANY or times["length"].n_unique() == 1:
        return []
    if times.filter((pl.col("start_ns") % NS_PER_US != 0) | (pl.col("end_ns") % NS_PER_US != 0)).height:
        return []
    rough = times.filter(pl.col("length") < _TICKS_PER_KERNEL * NS_PER_US).height
    return [
        Finding(
            id="coarse-times",
            severity="warning" if rough else "info",
            title="Times are whole microseconds",
            evidence=(
                f"all {times.height:,} kernels start and end on a whole microsecond",
                f"{format_count(rough, 'kernel')} shorter than {_TICKS_PER_KERNEL} us: known to 5 % at best",
            ),
            remedy="Sums over many calls are better than one call. Record with a tool that keeps nanoseconds.",
        )
    ]


def mixed_clocks(trace: Trace) -> list[Finding]:
    """Times from two clocks in one recording: far apart between tables, or within one."""
    number = timed_pass(trace)
    evidence = [*_apart(_windows(trace, number)), *_split(trace, number)]
    if not evidence:
        return []
    return [
        Finding(
            id="mixed-clocks",
            severity="warning",
            title="Times are so far apart that they may come from two clocks",
            evidence=tuple(evidence),
            remedy="If the program did not pause that long, windows, gaps and shares are wrong: "
            "read the parts separately.",
        )
    ]


def _windows(trace: Trace, number: int) -> dict[int, list[tuple[str, int, int]]]:
    """The (table, first, last) times of each node."""
    windows: dict[int, list[tuple[str, int, int]]] = {}
    for table in _TIMED:
        rows = (
            trace.lazy(table)
            .filter((pl.col("pass_id") == number) & pl.col("start_ns").is_not_null())
            .group_by("node")
            .agg(
                pl.col("start_ns").min().alias("first"),
                pl.max_horizontal(pl.col("start_ns").max(), pl.col("end_ns").max()).alias("last"),
            )
            .collect()
        )
        for node, first, last in rows.iter_rows():
            windows.setdefault(node, []).append((table, first, last))
    return windows


def _apart(windows: dict[int, list[tuple[str, int, int]]]) -> list[str]:
    evidence = []
    for tables in windows.values():
        for (one, *span), (other, *span2) in combinations(tables, 2):
            distance = max(span[0], span2[0]) - min(span[1], span2[1])
            longer = max(span[1] - span[0], span2[1] - span2[0])
            if distance > max(_HOUR_NS, longer):
                evidence.append(f"{one} and {other} are {format_ns(distance)} apart")
    return evidence


def _split(trace: Trace, number: int) -> list[str]:
    """Tables with one hole that is nearly the whole window."""
    evidence = []
    hole = pl.col("start_ns").sort().diff().max()
    window = pl.col("start_ns").max() - pl.col("start_ns").min()
    for table in _TIMED:
        rows = trace.lazy(table).filter(pl.col("pass_id") == number).select("node", "start_ns").collect()
        nodes = grouped(rows, ["node"], hole.alias("hole"), window.alias("window"), pl.len().alias("count"))
        for _, longest, whole, count in nodes.iter_rows():
            if longest and longest > max(_HOUR_NS, _HOLE_SHARE * whole):
                share = format_share(longest / whole)
                evidence.append(
                    f"{table}: nothing for {format_ns(longest)} between {count:,} events ({share})"
                )
    return evidence
